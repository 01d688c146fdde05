/**
 * Before tests that use what is built: an up-to-date `dist/`, one Chromium for all of them, and a look at what other
 * engines there are. Afterwards it is told which of them ran.
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
    /** Where playwright-core finds the shared browser: see `openProfile`. */
    chromiumAt: string;
    /** Engines that this machine does not have: what is to be installed for each. */
    missingEngines: Partial<Record<EngineName, string>>;
    /** The file that takes what is to be told of engines at the end, a line each. */
    engineLog: string;
  }
}

export default async ({ provide }: TestProject): Promise<() => Promise<void>> => {
  const missing: Partial<Record<EngineName, string>> = {};
  for (const kind of [chromium, firefox, webkit]) {
    const packages = await kind.missing();
    if (packages) missing[kind.name] = packages;
  }
  const told = Object.entries(missing).map(([name, packages]) => `${name}: not on this machine, install ${packages}`);
  provide('missingEngines', missing);

  await ensureDist();
  const folder = await mkdtemp(join(tmpdir(), 'tessera-engines-'));
  const log = join(folder, 'log');
  await appendFile(log, told.map((line) => `${line}\n`).join(''));
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
