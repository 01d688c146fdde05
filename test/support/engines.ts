/** Global setup of the browser tests: detects which engines are installed. The teardown prints which of them ran. */

import { appendFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { chromium } from './chromium.ts';
import type { EngineName } from './engine.ts';
import { firefox } from './firefox.ts';
import { webkit } from './webkit.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Missing engine -> the packages that install it. */
    missingEngines: Partial<Record<EngineName, string>>;
    /** File to which tests append lines about engines, which the teardown prints. */
    engineLog: string;
  }
}

export default async ({ provide }: TestProject): Promise<() => Promise<void>> => {
  const missing: Partial<Record<EngineName, string>> = {};
  for (const kind of [chromium, firefox, webkit]) {
    const packages = await kind.missing();
    if (packages) missing[kind.name] = packages;
  }
  provide('missingEngines', missing);

  const folder = await mkdtemp(join(tmpdir(), 'tessera-engines-'));
  const log = join(folder, 'log');
  const notices = Object.entries(missing).map(([name, packages]) => `${name}: not installed, install ${packages}\n`);
  await appendFile(log, notices.join(''));
  provide('engineLog', log);

  return async () => {
    const lines = (await readFile(log, 'utf8')).split('\n').filter(Boolean);
    if (lines.length > 0) console.log(['engines:', ...new Set(lines)].join('\n  '));
    await rm(folder, { recursive: true });
  };
};
