/** The React Native app of docs/webview.md, around a page with a real session. */

import { readFileSync } from 'node:fs';
import { transformWithOxc } from 'vite';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { connectWebview } from '../../src/page/webview.ts';
import { restoreGlobals } from '../session/fixtures.ts';
import { until, useFakeClock } from '../support/clock.ts';
import { createOperatorFixture } from '../support/fixtures.ts';
import { leaveHost, postHere } from '../support/native.ts';

interface App {
  view: { current: unknown };
  set: { current: unknown };
  onMessage(event: { nativeEvent: { data: string; url: string } }): void;
  signedIn(answer: unknown): void;
  refreshed(answer: unknown): void;
  signedOut(): void;
}

const [, source] = /```tsx\n(const view = .*?)```/s.exec(readFileSync('docs/webview.md', 'utf8'))!;
const { code } = await transformWithOxc(source!, 'app.tsx', { jsx: { runtime: 'classic', pragma: 'h' } });

const PAGE = 'https://www.publisher.example/article';
let app: App;
let fixture: ReturnType<typeof createOperatorFixture>;

/** `URL` as in React Native. */
class IncompleteUrl {
  get origin(): never {
    throw new Error('URL.origin is not implemented');
  }
}

beforeEach(() => {
  useFakeClock();
  fixture = createOperatorFixture();
  const names = 'view, set, onMessage, signedIn, refreshed, signedOut';
  const run = new Function('useRef', 'h', 'WebView', 'uri', 'URL', `${code}; return { ${names} };`);
  app = run(
    (current: unknown) => ({ current }),
    () => {},
    'WebView',
    PAGE,
    IncompleteUrl,
  );
  const inPage = { postMessage: postHere };
  app.view.current = { injectJavaScript: (script: string) => new Function('window', script)(inPage) };
  const postMessage = (data: string) => app.onMessage({ nativeEvent: { data, url: PAGE } });
  Object.assign(window, { ReactNativeWebView: { postMessage } });
});
afterEach(() => {
  fixture.close();
  restoreGlobals();
  leaveHost();
});

const answerFor = (name: string) => fixture.answerFor(`${name}@example.com`);
const tokenOf = (answer: unknown) => (answer as { body: { advertising_token: string } }).body.advertising_token;

test('the page adopts what the app stores, refreshes and signs in; a logout on either side reaches the other', async () => {
  const [first, next, other] = [await answerFor('user'), await answerFor('user'), await answerFor('other')];
  app.signedIn(first);
  const { session } = fixture.open({ refresh: 'off' });
  const link = connectWebview(session, { owner: 'host' });
  expect(await link.ready).toBe(true);
  await until(() => session.advertisingToken === tokenOf(first));
  app.refreshed(next);
  await until(() => session.advertisingToken === tokenOf(next));
  app.signedOut();
  await until(() => !session.advertisingToken);
  app.signedIn(other);
  await until(() => session.advertisingToken === tokenOf(other));
  await session.clear();
  await fixture.settle();
  expect(app.set.current).toBeNull();
  link.disconnect();
});

test('messages of other senders are ignored', () => {
  const inject = vi.fn();
  app.view.current = { injectJavaScript: inject };
  for (const data of ['text', '{', 'null', '7', '"text"', '{"ns":"other"}', '{"ns":"tessera","v":2,"kind":"req"}'])
    expect(() => app.onMessage({ nativeEvent: { data, url: PAGE } })).not.toThrow();
  const hello = JSON.stringify({ v: 1, ns: 'tessera', kind: 'req', type: 'hello', id: '1', gen: 0 });
  for (const url of [
    'https://www.publisher.example.other.example/',
    'https://www.publisher.example@other.example/',
    '',
  ])
    app.onMessage({ nativeEvent: { data: hello, url } });
  expect(inject).not.toHaveBeenCalled();
  app.onMessage({ nativeEvent: { data: hello, url: PAGE } });
  expect(inject).toHaveBeenCalledOnce();
});
