/** docs/start/script-tag.md works as it is written, with `tessera.dev.js` until its end: its server and its page, with the packed package, a real operator and a real browser. */

import { spawn } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createOperator } from '../../src/operator/index.ts';
import { listen } from '../../src/operator/node.ts';
import { openProfile } from '../support/browser.ts';
import { freePort } from '../support/free-port.ts';
import { installPacked } from '../support/packed.ts';
import { blocks } from './blocks.ts';

const PAGE = 'docs/start/script-tag.md';
const WAIT = { timeout: 60_000 };

test('a page gets a token, and a logout ends it', async () => {
  const [server, calls] = blocks.filter(({ page, language }) => page === PAGE && language === 'js');
  const [html] = blocks.filter(({ page, language }) => page === PAGE && language === 'html');
  const user = await installPacked([]);
  onTestFinished(() => user.remove());
  const operator = createOperator({ roles: ['GENERATOR'] });
  const service = await listen(operator, { port: 0, graceMs: 0 });
  onTestFinished(() => service.close());
  const { apiKey, clientSecret } = operator.participants[0]!;
  const port = await freePort();
  await writeFile(join(user.folder, 'server.mjs'), server!.code.replace('3000', String(port)));
  await writeFile(join(user.folder, 'index.html'), html!.code.replace('http://127.0.0.1:8080', service.url));

  const env = { TESSERA_BASE_URL: service.url, TESSERA_API_KEY: apiKey, TESSERA_CLIENT_SECRET: clientSecret };
  const child = spawn(process.execPath, ['server.mjs'], {
    cwd: user.folder,
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  onTestFinished(() => void child.kill());
  const origin = `http://127.0.0.1:${port}`;
  // The development build until the page is published: then one word of the tag changes.
  expect(html!.code).toContain('src="/tessera.dev.js"');
  expect(await readFile(PAGE, 'utf8')).toContain('Replace `/tessera.dev.js` in the tag by `/tessera.js`');
  await expect
    .poll(
      () =>
        fetch(origin).then(
          ({ status }) => status,
          () => 0,
        ),
      WAIT,
    )
    .toBe(200);

  // A request that `Request` refuses does not end the process. `fetch` would not send it.
  request(`${origin}/token`, { method: 'TRACE' }, (response) => response.resume()).end();
  const page = await (await openProfile()).newPage();
  const said: string[] = [];
  page.on('console', (message) => said.push(message.text()));
  await page.goto(origin);
  await expect.poll(() => said, WAIT).toContain('new token: 218 characters');
  expect((await fetch(`${origin}/tessera.js`)).headers.get('content-type')).toBe('text/javascript');
  await page.reload();
  await expect.poll(() => said.filter((line) => line.startsWith('new token:')).length, WAIT).toBe(2);
  await page.evaluate(`(async (account) => { ${calls!.code} })({ id: 'account-1' })`);
  expect(await page.evaluate('tessera.session.advertisingToken')).toBeUndefined();
  // Neither an error nor a warning, for example about an icon that the server does not have.
  expect(said.filter((line) => !line.startsWith('new token:'))).toEqual([]);
});
