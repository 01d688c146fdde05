/** The oldest Chromium that README.md names. Where it cannot run, its tests are skipped, unless all engines are required. */

import { appendFile } from 'node:fs/promises';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { INSTALL_MS } from '../../build/packages.ts';
import { areAllRequired } from '../support/engine.ts';
import { OLDEST } from '../support/oldest.ts';
import { launchOldest } from '../support/oldest-chromium.ts';
import { shellTabs, testWorlds } from './tests.ts';

let oldest: Browser | undefined;
let why = '';

beforeAll(async () => {
  oldest = await launchOldest().catch((error: Error) => {
    if (areAllRequired) throw error;
    why = `the oldest Chromium does not run here: ${error.message}`;
    return undefined;
  });
  await appendFile(inject('engineLog'), oldest ? `chromium ${oldest.version()}\n` : `${why.split('\n')[0]}\n`);
}, INSTALL_MS);
afterAll(() => oldest?.close());

test('is the one that README.md names', ({ skip }) => {
  skip(!oldest, why);
  expect(`chrome${oldest!.version().split('.')[0]}`).toBe(OLDEST.chrome);
});

describe('the story', () => {
  for (const build of ['tag', 'drop-in'] as const)
    testWorlds('oldest', build, 'shell', (skip) => {
      skip(!oldest, why);
      return {
        name: 'shell',
        openTabs: async (onEnd) => {
          const profile = await oldest!.newContext();
          onEnd(() => profile.close());
          return shellTabs(profile);
        },
      };
    });
});
