/** The request of a refresh, to a server on a real port. */

import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { requestRefresh } from '../../src/react-native/http.ts';
import { parseTokenSet } from '../../src/token/index.ts';

const at = 1_900_000_000_000;
const set = parseTokenSet({
  advertising_token: 'a-token',
  refresh_token: 'a-refresh-token-of-nobody',
  refresh_response_key: btoa('k'.repeat(32)),
  refresh_from: at,
  identity_expires: at,
  refresh_expires: at,
});
/** Resolves when the client has ended the request. */
const serve = async (answer: RequestListener) => {
  let ended = () => {};
  const end = new Promise<void>((resolve) => (ended = resolve));
  const server = createServer((request, response) => {
    response.on('close', ended);
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.closeAllConnections());
  onTestFinished(() => void server.close());
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, end };
};

test('an answer without an end is read up to 64 KiB, and the connection is closed', async () => {
  const { baseUrl, end } = await serve((_, response) => {
    const more = () => response.write('x'.repeat(16_384), () => response.destroyed || more());
    more();
  });
  expect(await requestRefresh(baseUrl, set, new AbortController())).toMatchObject({ kind: 'failed', why: 'Error' });
  await end;
});

test('a request that is cancelled while its answer drips ends at once', async () => {
  const controller = new AbortController();
  const { baseUrl, end } = await serve((_, response) => {
    response.write('x', () => controller.abort());
  });
  expect(await requestRefresh(baseUrl, set, controller)).toMatchObject({ kind: 'failed', why: 'AbortError' });
  await end;
});

test('a redirect, which would send the refresh token elsewhere, is not followed', async () => {
  const asked: unknown[] = [];
  const { baseUrl } = await serve(({ url }, response) => {
    asked.push(url);
    response.writeHead(307, { location: '/elsewhere' }).end();
  });
  expect(await requestRefresh(baseUrl, set, new AbortController())).toMatchObject({ kind: 'failed' });
  expect(asked).toEqual(['/v2/token/refresh']);
});

test.each([
  [400, '{"status":"expired_token"}', 'ended'],
  [400, '{"status":"invalid_token"}', 'ended'],
  [400, '{"status":"error"}', 'refused'],
  [401, '{"status":"unauthorized"}', 'refused'],
  [200, '{"status":"success"}', 'refused'],
  [429, '', 'failed'],
  [503, '{"status":"expired_token"}', 'failed'],
])('%i %s is: %s, with the clock and the pause of the service', async (status, text, kind) => {
  const { baseUrl } = await serve((_, response) => {
    const date = new Date(at).toUTCString();
    response.writeHead(status, { date, 'retry-after': '7' }).end(text);
  });
  const outcome = await requestRefresh(baseUrl, set, new AbortController());
  expect(outcome).toMatchObject({ kind, date: at, retryAfterMs: 7_000 });
});

test('in React Native, XMLHttpRequest is used, and ended when more than 64 KiB have arrived, or at the end of them', async () => {
  const done: string[] = [];
  class Request {
    onprogress = (_: { loaded: number }) => {};
    onload = () => {};
    status = 400;
    responseText = '{"status":"expired_token"}';
    open = (...given: string[]) => void done.push(given.join(' '));
    setRequestHeader = () => {};
    getResponseHeader = () => null;
    abort = () => void done.push('abort');
    send = (text: string) => {
      // An answer may arrive without an event before its end.
      if (text === 'at once') this.responseText += ' '.repeat(70_000);
      else this.onprogress({ loaded: text === set.refreshToken ? 70_000 : 100 });
      this.onload();
    };
  }
  onTestFinished(() => void vi.unstubAllGlobals());
  vi.stubGlobal('navigator', { product: 'ReactNative' });
  vi.stubGlobal('XMLHttpRequest', Request);
  const { signal } = new AbortController();
  const kindOf = async (refreshToken: string) =>
    (await requestRefresh('https://a.example', { ...set, refreshToken }, { signal } as AbortController)).kind;
  const kinds = [await kindOf(set.refreshToken), await kindOf('at once'), await kindOf('short')];
  expect(kinds).toEqual(['failed', 'failed', 'ended']);
  const post = 'POST https://a.example/v2/token/refresh';
  expect(done).toEqual([post, 'abort', post, post]);
});
