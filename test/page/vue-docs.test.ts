/** The Vue code of docs/pages/frameworks.md, with the real Vue: on a server, during hydration and in a page. */

import { readFileSync } from 'node:fs';
import { transformWithOxc } from 'vite';
import { expect, onTestFinished, test, vi } from 'vitest';
import * as vue from 'vue';
import { renderToString } from 'vue/server-renderer';
import type { Session } from '../../src/session/index.ts';
import { restoreGlobals } from '../session/fixtures.ts';
import { MINUTE, useFakeClock } from '../support/clock.ts';
import { createOperatorFixture } from '../support/fixtures.ts';

type UseToken = (session?: Session) => vue.ShallowRef<string | undefined>;

const [, source] = /```ts\n([^`]*from 'vue';.*?)```/s.exec(readFileSync('docs/pages/frameworks.md', 'utf8'))!;
const { code } = await transformWithOxc(
  source!.replace('export const', 'const').replace(/^import .*$/gm, ''),
  'vue.ts',
);
const useToken = new Function('vue', `const { ${Object.keys(vue)} } = vue; ${code}; return useToken;`)(vue) as UseToken;

const appOf = (session?: Session) =>
  vue.createSSRApp({
    setup: () => {
      const token = useToken(session);
      return () => vue.h('p', token.value ?? 'no token');
    },
  });

test('a component shows each token after hydration, and leaves no listener; a server renders none and adds none', async () => {
  useFakeClock();
  const fixture = createOperatorFixture();
  onTestFinished(async () => {
    fixture.close();
    await restoreGlobals();
    document.body.innerHTML = '';
  });
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
  const { session } = fixture.open({ tokens: await fixture.answerFor('user@example.com') });
  await fixture.settle();
  let listeners = 0;
  const { subscribe } = session;
  vi.spyOn(session, 'subscribe').mockImplementation((listener) => {
    const unsubscribe = subscribe(listener);
    listeners++;
    return () => {
      listeners--;
      unsubscribe();
    };
  });
  const onServer = await renderToString(appOf(session));
  expect(onServer).toBe(await renderToString(appOf()));
  expect(onServer).toBe('<p>no token</p>');
  expect(listeners).toBe(0);

  document.body.innerHTML = onServer;
  const app = appOf(session);
  app.mount(document.body);
  await vue.nextTick();
  const first = session.advertisingToken;
  expect(document.body.textContent).toBe(first);
  await fixture.advance(16 * MINUTE);
  expect(session.advertisingToken).not.toBe(first);
  expect(document.body.textContent).toBe(session.advertisingToken);

  expect(listeners).toBe(1);
  app.unmount();
  expect(listeners).toBe(0);
  expect(warn).not.toHaveBeenCalled();
});
