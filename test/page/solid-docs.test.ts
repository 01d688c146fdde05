/** The Solid code of docs/pages/frameworks.md, with the real Solid in its build for browsers. */

import { readFileSync } from 'node:fs';
// @ts-expect-error The package declares no types for this file: what it imports on a server is another build.
import * as client from 'solid-js/dist/solid.js';
import { transformWithOxc } from 'vite';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Session } from '../../src/session/index.ts';
import { MINUTE, useFakeClock } from '../support/clock.ts';
import { createOperatorFixture } from '../support/fixtures.ts';

const solid = client as typeof import('solid-js');
const [, source] = /```ts\n([^`]*from 'solid-js';.*?)```/s.exec(readFileSync('docs/pages/frameworks.md', 'utf8'))!;
const { code } = await transformWithOxc(
  source!.replace('export const', 'const').replace(/^import .*$/gm, ''),
  'solid.ts',
);
const createToken = new Function('solid', `const { ${Object.keys(solid)} } = solid; ${code}; return createToken;`)(
  solid,
) as (session?: Session) => () => string | undefined;

test('a signal has each token until its owner is disposed of; without a session it has none', async () => {
  useFakeClock();
  const fixture = createOperatorFixture();
  onTestFinished(() => {
    fixture.close();
    vi.useRealTimers();
  });
  const { session } = fixture.open({ tokens: await fixture.answerFor('user@example.com') });
  await fixture.settle();
  const mount = (given?: Session) => solid.createRoot((dispose) => ({ token: createToken(given), dispose }));
  expect(mount().token()).toBeUndefined();

  const { token, dispose } = mount(session);
  const first = session.advertisingToken;
  expect(first).toBeDefined();
  expect(token()).toBe(first);
  await fixture.advance(16 * MINUTE);
  const second = session.advertisingToken;
  expect(second).not.toBe(first);
  expect(token()).toBe(second);

  dispose();
  await fixture.advance(16 * MINUTE);
  expect(session.advertisingToken).not.toBe(second);
  expect(token()).toBe(second);
});
