import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { afterAll, expect, test } from 'vitest';
import { fromB64, toB64 } from '../../src/token/bytes.ts';
import { aesKey } from '../../src/token/cipher.ts';
import { openResponse } from '../../src/token/index.ts';
import { envelope } from './fixtures.ts';

const SECRET = toB64(new Uint8Array(32).fill(1));
let child: ChildProcess | undefined;
afterAll(() => void child?.kill('SIGKILL'));

/** Resident memory of the process, bytes; undefined on systems without /proc. */
const memory = async (): Promise<number | undefined> => {
  const text = await readFile(`/proc/${child!.pid}/statm`, 'utf8').catch(() => undefined);
  return text === undefined ? undefined : Number(text.split(' ')[1]) * 4096;
};

test('under a mixed load for some seconds no request fails and the memory does not grow', async () => {
  child = spawn(process.execPath, ['--import', 'tsx', 'src/cli/main.ts', 'operator', '--port', '0'], {
    cwd: new URL('../..', import.meta.url),
    env: {
      PATH: process.env.PATH,
      TESSERA_API_KEY: 'soak',
      TESSERA_CLIENT_SECRET: SECRET,
      TESSERA_ROOT_SECRET: SECRET,
    },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [line] = (await once(createInterface(child.stdout!), 'line')) as [string];
  const url = line.slice('listening on '.length);
  const key = await aesKey(fromB64(SECRET));
  const http: Record<number, number> = {};
  const count = (response: Response): Response => {
    http[response.status] = (http[response.status] ?? 0) + 1;
    return response;
  };
  const call = async (path: string, payload: unknown) => {
    const body = toB64(await envelope(payload, SECRET, Date.now()));
    const headers = { authorization: 'Bearer soak' };
    const response = count(await fetch(url + path, { method: 'POST', body, headers }));
    const text = await response.text();
    return response.status === 200 ? JSON.parse((await openResponse(key, fromB64(text))).json) : undefined;
  };
  const refresh = async (body: string) =>
    count(await fetch(`${url}/v2/token/refresh`, { method: 'POST', body })).arrayBuffer();

  let round = 0;
  const rounds = async (until: number): Promise<void> => {
    while (Date.now() < until) {
      const user = { email: `user${round++}@example.com` };
      const { body } = await call('/v2/token/generate', user);
      await refresh(body.refresh_token);
      await refresh(`${body.refresh_token.slice(0, -1)}x`);
      await call('/v2/token/validate', { token: body.advertising_token, ...user });
      await call('/v3/identity/map', { email: Array.from({ length: 200 }, (_, at) => `user${at}@example.com`) });
      await call('/v2/identity/map', { email: [] });
      await call('/v2/identity/buckets', { since_timestamp: Date.now() - 3_600_000 });
      await call('/v2/key/bidstream', undefined);
      await call('/v2/token/generate', {});
      // A hundred users opt out repeatedly: repeated opt-outs must not add records.
      await call('/v2/token/logout', { email: `leaver${round % 100}@example.com` });
      await call('/v2/optout/status', { advertising_ids: Array.from({ length: 100 }, (_, at) => `${at}`) });
      count(await fetch(`${url}/metrics`));
    }
  };
  const load = (ms: number) => Promise.all(Array.from({ length: 8 }, () => rounds(Date.now() + ms)));

  await load(3000);
  const before = await memory();
  await load(4000);
  const after = await memory();

  expect(Object.keys(http)).toEqual(['200', '400']);
  expect(round).toBeGreaterThan(50);
  if (before !== undefined) expect(after! - before).toBeLessThan(80_000_000);
}, 30_000);
