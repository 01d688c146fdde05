/** The demo as it starts: its ports, its options, and the packages that it installs. */

import { once } from 'node:events';
import { get } from 'node:http';
import { createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { startDemo } from '../../demo/main.ts';
import { demo, open, profile, shows, WAIT } from './demo.ts';

test('other Host names, which a page of another site may have for this machine, get no answer', async () => {
  const { port } = new URL(demo.url);
  for (const [host, status] of [
    [`evil.example:${port}`, 421],
    [`localhost:${port}`, 200],
  ] as const) {
    const [response] = await once(get(demo.url, { headers: { host } }), 'response');
    response.resume();
    expect(response.statusCode).toBe(status);
  }
});

test('a given port that is in use is an error; the default port is replaced with a free one', async () => {
  const port = Number(new URL(demo.url).port);
  await expect(startDemo({ port, incumbent: '' })).rejects.toMatchObject({ code: 'EADDRINUSE', port });
  const holder = createServer().listen(4700, '127.0.0.1');
  onTestFinished(() => void holder.close());
  // Whoever holds the port: this test or another process.
  await Promise.race([once(holder, 'listening'), once(holder, 'error')]);
  const other = await startDemo({ incumbent: '' });
  onTestFinished(() => other.close());
  expect(other.url).not.toMatch(/:4700$/);
  expect((await fetch(other.url)).status).toBe(200);
});

test('the last port is a port of the pages: the operator uses any free one', async () => {
  const last = await startDemo({ port: 65_535, incumbent: '' });
  onTestFinished(() => last.close());
  expect(last.url).toBe('http://127.0.0.1:65535');
  expect((await fetch(`${last.operatorUrl}/metrics`)).status).toBe(200);
});

test('Prebid is installed when its page is opened; meanwhile, and after a failure, the page says so', async () => {
  let end: (error?: Error) => void = () => {};
  const folders: string[] = [];
  const installs = (folder: string) =>
    new Promise<void>((resolve, reject) => {
      folders.push(folder);
      end = (error) => (error ? reject(error) : resolve());
    });
  const other = await startDemo({ port: 0, incumbent: '', install: installs });
  onTestFinished(() => other.close());
  await open('/', profile, other);
  expect(folders).toEqual([]);
  const page = await open('/prebid', profile, other);
  await shows(page, 'main', 'The packages of this page are being installed, once. It opens by itself.');
  const comparison = await open('/compare', profile, other);
  await shows(comparison, '#running', /^Tessera$/);
  await shows(comparison, '#starting', /^Prebid$/);
  await comparison.close();
  end(new Error('demo/prebid: could not install its packages'));
  await shows(page, 'main', /could not install its packages\s+Load this page again to try once more/);
  await page.reload();
  expect(folders).toEqual(['demo/prebid', 'demo/prebid']);
  end();
  await page.waitForSelector('#auction', WAIT);
});

test('a copy of the UID2 JavaScript SDK that does not exist is an error', async () => {
  await expect(startDemo({ port: 0, incumbent: '/nowhere/sdk.js' })).rejects.toThrow(
    'demo: could not read /nowhere/sdk.js; TESSERA_INCUMBENT must be the path of a script file',
  );
});
