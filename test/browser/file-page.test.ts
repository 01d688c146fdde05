/** A page without an http origin, as an app opens from its own files: the script-tag files work there. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { root } from '../../build/dist.ts';
import { answerOf } from '../../src/server/index.ts';
import { openPage, type Publisher, READER, startOperator } from './publisher.ts';

/** Write a page into a folder of its own, and open it by its `file:` address. */
const openFile = async (html: string) => {
  const folder = await mkdtemp(join(tmpdir(), 'tessera-page-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'page.html');
  await writeFile(file, `<!doctype html><title>app</title>${html}`);
  return openPage(pathToFileURL(file).href);
};

const dist = pathToFileURL(join(root, 'dist')).href;

/** A new set, as the app hands it to the page. */
const answerFrom = async (client: Publisher['client']) => answerOf(await client.generate(READER));

test('the script tag refreshes, and keeps its token over a reload', async () => {
  const { baseUrl, client } = await startOperator();
  const page = await openFile(`<script src="${dist}/tessera.js" data-base-url="${baseUrl}"></script>`);
  const token = () => page.evaluate<string | undefined>('tessera.session.advertisingToken');
  await page.evaluate(`tessera.session.setTokens(${JSON.stringify(await answerFrom(client))})`);
  const first = await token();
  expect(first).toBeTruthy();
  await expect.poll(token, { timeout: 20_000 }).not.toBe(first);
  await page.reload();
  await expect.poll(token, { timeout: 20_000 }).toBeTruthy();
});

test('the drop-in refreshes, and keeps its token over a reload', async () => {
  const { baseUrl, client } = await startOperator();
  const page = await openFile(`<script src="${dist}/tessera-uid2.js"></script>`);
  const token = () => page.evaluate<string | undefined>('__uid2.getAdvertisingToken()');
  const { body: identity } = (await answerFrom(client)) as { body?: unknown };
  await page.evaluate(`__uid2.init(${JSON.stringify({ baseUrl, identity })})`);
  const first = await token();
  expect(first).toBeTruthy();
  await expect.poll(token, { timeout: 20_000 }).not.toBe(first);
  await page.reload();
  // The options of the page before start it.
  await expect.poll(token, { timeout: 20_000 }).toBeTruthy();
});
