/**
 * What compiles as the answer of a publisher's server, and what does not. `npm test` runs `tsc`, which reports an error that a
 * line below should have and has not.
 */

import type { WireAnswer } from '../../src/server/index.ts';
import type { ProvideOption, Session, SessionOptions, WireTokenSet } from '../../src/session/index.ts';

declare const session: Session;
declare const response: Response;
declare const body: WireTokenSet;
declare const generated: WireAnswer;

/** Compiled, never called. */
export const accepted = async () => {
  await session.setTokens(generated);
  await session.setTokens(body);
  await session.setTokens({ status: 'success', body });
  await session.setTokens({ status: 'optout' });
  // `json()` resolves with `any`: what it holds is checked when it arrives.
  await session.setTokens(await response.json());
};

/** Compiled, never called. */
export const refused = async () => {
  // @ts-expect-error a Response: `await response.json()` is meant
  await session.setTokens(response);
  // @ts-expect-error a promise of a Response
  await session.setTokens(fetch('/token'));
  // @ts-expect-error a promise of the JSON: `await` is missing
  await session.setTokens(Promise.resolve(body));
  // @ts-expect-error JSON that is not parsed
  await session.setTokens(await response.text());
  // @ts-expect-error nothing
  await session.setTokens(undefined);
  // @ts-expect-error another status
  await session.setTokens({ status: 'unauthorized' });
  // @ts-expect-error a set without its key
  await session.setTokens({ advertising_token: '', refresh_token: '' });
};

/** Compiled, never called. */
export const provides: ProvideOption[] = [
  async () => null,
  // @ts-expect-error a missing return
  async () => undefined,
  // @ts-expect-error a missing return
  async () => {
    await fetch('/token');
  },
  async () => generated,
  async ({ signal }) => (await fetch('/token', { method: 'POST', signal })).json(),
  // @ts-expect-error a Response instead of its JSON
  () => fetch('/token'),
  // @ts-expect-error a Response, awaited
  async () => response,
  // @ts-expect-error the text instead of the JSON
  async () => response.text(),
  // @ts-expect-error no promise
  () => null,
];

/** Compiled, never called. */
export const rendered: SessionOptions[] = [
  { baseUrl: '', tokens: generated },
  { baseUrl: '', tokens: null },
  // @ts-expect-error JSON that is not parsed
  { baseUrl: '', tokens: '{}' },
  // @ts-expect-error a Response
  { baseUrl: '', tokens: response },
  // @ts-expect-error a promise
  { baseUrl: '', tokens: Promise.resolve(generated) },
];
