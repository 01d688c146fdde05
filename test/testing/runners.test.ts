/** The recipes of docs/pages/testing.md for other test runners, with the packed package: node:test, and Playwright with a real browser. */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { chromium, type Page } from 'playwright-core';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import * as testing from '../../src/testing/index.ts';
import { serveSite } from '../support/browser.ts';
import { installPacked, run } from '../support/packed.ts';
import { blocksWith, runBlock } from './doc-blocks.ts';

test('the example for node:test passes under `node --test`', async () => {
  const user = await installPacked([]);
  onTestFinished(user.remove);
  const [block] = await blocksWith('docs/pages/testing.md', 'node:test');
  await writeFile(join(user.folder, 'example.test.js'), block!);
  const { stdout } = await run(process.execPath, ['--test', '--test-reporter=tap', 'example.test.js'], {
    cwd: user.folder,
  });
  expect(stdout).toMatch(/^# pass 1$/m);
});

/** `test` of Playwright, as far as the example uses it: a page of a site whose `/` has the script tag. */
const withPage = (name: string, body: (fixtures: { page: Page }) => Promise<void>) =>
  test(name, async () => {
    const html = '<script src="/tessera.js" data-base-url="https://operator.example" data-provide="/token"></script>';
    const { origin } = await serveSite({ '/': html });
    const browser = await chromium.connect(inject('chromiumAt'));
    onTestFinished(() => browser.close());
    const context = await browser.newContext({ baseURL: origin });
    await body({ page: await context.newPage() });
  });

describe('the example for Playwright', async () => {
  const [block] = await blocksWith('docs/pages/testing.md', '@playwright/test');
  await runBlock(block!, { '@playwright/test': { test: withPage, expect }, 'tessera-id/testing': testing });
});
