/**
 * Global setup of the tests that use the built files: builds `dist/` unless it is up to date, starts one Chromium for all of
 * them, and finds out which other engines are installed. The teardown prints which engines ran.
 */

import { appendFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { ensureDist } from '../../build/dist.ts';
import { chromium, launchShared } from './chromium.ts';
import type { EngineName } from './engine.ts';
import { firefox } from './firefox.ts';
import { webkit } from './webkit.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** WebSocket endpoint of the shared browser, for `openProfile`. */
    chromiumAt: string;
    /** Engine that is not installed -> the packages that bring it. */
    missingEngines: Partial<Record<EngineName, string>>;
    /** File to which tests append lines about engines; the teardown prints them. */
    engineLog: string;
  }
}

export default async ({ provide }: TestProject): Promise<() => Promise<void>> => {
  const missing: Partial<Record<EngineName, string>> = {};
  for (const kind of [chromium, firefox, webkit]) {
    const packages = await kind.missing();
    if (packages) missing[kind.name] = packages;
  }
  const notices = Object.entries(missing).map(([name, packages]) => `${name}: not installed, install ${packages}`);
  provide('missingEngines', missing);

  await ensureDist();
  const folder = await mkdtemp(join(tmpdir(), 'tessera-engines-'));
  const log = join(folder, 'log');
  await appendFile(log, notices.map((line) => `${line}\n`).join(''));
  provide('engineLog', log);

  const { server, version } = await launchShared();
  provide('chromiumAt', server.wsEndpoint());
  return async () => {
    await server.close();
    const lines = [`chromium ${version}`, ...(await readFile(log, 'utf8')).split('\n').filter(Boolean)];
    console.log(`engines:\n${[...new Set(lines)].map((line) => `  ${line}`).join('\n')}`);
    await rm(folder, { recursive: true });
  };
};
