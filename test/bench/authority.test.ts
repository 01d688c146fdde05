/** The token service of the peers answers as they expect, and counts what the benchmarks state. */

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createAuthority } from '../../bench/peers/authority.ts';
import { createLedger } from '../../bench/peers/ledger.ts';

const ISSUER = 'http://127.0.0.1:1/a-run/70/10';

interface Answer {
  readonly refresh_token: string;
  readonly expires_in: number;
  readonly id_token: string;
}

const start = () => {
  const ledger = createLedger();
  const app = createAuthority(ledger);
  const post = async (body: Record<string, string>): Promise<Answer> => {
    const answer = await app.request(`${ISSUER}/oauth/token`, { method: 'POST', body: new URLSearchParams(body) });
    expect(answer.status).toBe(200);
    return (await answer.json()) as Answer;
  };
  return { ledger, app, post };
};

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000 }));
afterEach(() => void vi.useRealTimers());

describe('the authority', () => {
  test('gives the first token the issuer’s lifetime, and a refreshed token one hour', async () => {
    const { post } = start();
    const first = await post({ grant_type: 'password' });
    expect(first.expires_in).toBe(70);
    expect((await post({ grant_type: 'refresh_token', refresh_token: first.refresh_token })).expires_in).toBe(3600);
  });

  test('puts the nonce of the code flow into the ID token', async () => {
    const { app, post } = start();
    const redirect = encodeURIComponent('http://127.0.0.1:2/');
    const sent = await app.request(`${ISSUER}/authorize?redirect_uri=${redirect}&state=s&nonce=n`);
    const target = new URL(sent.headers.get('location')!);
    expect(Object.fromEntries(target.searchParams)).toEqual({ state: 's', code: 'n' });
    const { id_token } = await post({ grant_type: 'authorization_code', code: 'n' });
    expect(JSON.parse(Buffer.from(id_token.split('.')[1]!, 'base64url').toString())).toMatchObject({
      iss: `${ISSUER}/`,
      nonce: 'n',
    });
  });

  test('reads Supabase’s grant from the query', async () => {
    const { app, ledger } = start();
    const send = (grant: string, body: unknown) =>
      app.request(`${ISSUER}/token?grant_type=${grant}`, { method: 'POST', body: JSON.stringify(body) });
    const { refresh_token } = (await (await send('password', { email: 'reader@example.com' })).json()) as Answer;
    expect((await send('refresh_token', { refresh_token })).status).toBe(200);
    expect(ledger.of('a-run')).toHaveLength(1);
  });
});

test('the ledger states how late each refresh is, and which used a refresh token again', async () => {
  const { ledger, post } = start();
  const { refresh_token } = await post({ grant_type: 'password' });
  expect(ledger.dueAt('a-run')).toBe(1_010_000);
  vi.setSystemTime(1_010_025);
  await post({ grant_type: 'refresh_token', refresh_token });
  vi.setSystemTime(1_009_000);
  await post({ grant_type: 'refresh_token', refresh_token });
  expect(ledger.of('a-run')).toEqual([
    { run: 'a-run', lateMs: 25, isReuse: false },
    { run: 'a-run', lateMs: -1000, isReuse: true },
  ]);
  expect(ledger.of('another')).toEqual([]);
});
