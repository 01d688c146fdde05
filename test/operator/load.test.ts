import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { afterAll, expect, test } from 'vitest';
import { toB64 } from '../../src/token/bytes.ts';
import { COMMAND } from '../support/command.ts';
import { ALL_ROLES, createCalls } from './fixtures.ts';

const SECRET = toB64(new Uint8Array(32).fill(1));
const CALLERS = 8;
/** Rounds of all callers together: some to warm up, and those over which the memory is compared. */
const WARM_UP = 60;
const ROUNDS = 120;
let child: ChildProcess | undefined;
afterAll(() => void child?.kill('SIGKILL'));

const startOperator = async (): Promise<string> => {
  child = spawn(process.execPath, [COMMAND, 'operator', '--port', '0', '--roles', ALL_ROLES.join()], {
    cwd: new URL('../..', import.meta.url),
    env: {
      PATH: process.env.PATH,
      TESSERA_API_KEY: 'load',
      TESSERA_CLIENT_SECRET: SECRET,
      TESSERA_ROOT_SECRET: SECRET,
    },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [line] = (await once(createInterface(child.stdout!), 'line')) as [string];
  return line.slice('listening on '.length);
};

/** Resident memory of the process, bytes; undefined on systems without /proc. */
const memory = async (): Promise<number | undefined> => {
  const text = await readFile(`/proc/${child!.pid}/statm`, 'utf8').catch(() => undefined);
  return text === undefined ? undefined : Number(text.split(' ')[1]) * 4096;
};

const damage = (token: string): string => {
  const at = token.length >> 1;
  return `${token.slice(0, at)}${token[at] === 'x' ? 'y' : 'x'}${token.slice(at + 1)}`;
};

test('under a mixed load every request has its own answer, and the memory does not grow', async () => {
  const url = await startOperator();
  const participant = { apiKey: 'load', clientSecret: SECRET, siteId: 1, roles: [] };
  const { call, refresh, generate } = createCalls((path, init) => fetch(url + path, init), participant, Date.now);
  const shared = Array.from({ length: 200 }, (_, at) => `shared${at}@example.com`);
  const expected = (await call('/v3/identity/map', { email: shared })).json;
  const unknownIds = Array.from({ length: 100 }, (_, at) => `${at}`);

  /** Each kind of request once, for a user of this round. */
  const playRound = async (round: number): Promise<void> => {
    const email = `user${round}@example.com`;
    const isTokenOf = async (token: string, user: string) =>
      (await call('/v2/token/validate', { token, email: user })).json.body;
    const set = await generate({ email });
    expect(await isTokenOf(set.advertising_token, email)).toBe(true);
    const refreshed = (await refresh(set)).json;
    expect(refreshed.status).toBe('success');
    expect(await isTokenOf(refreshed.body.advertising_token, email)).toBe(true);
    expect(await isTokenOf(refreshed.body.advertising_token, `user${round + 1}@example.com`)).toBe(false);
    expect((await refresh({ ...set, refresh_token: damage(set.refresh_token) })).http).toBe(400);
    // The mapping of the round's own user comes at the place where it was sent.
    const at = round % shared.length;
    const { email: mapped } = (await call('/v3/identity/map', { email: shared.with(at, email) })).json.body;
    expect(mapped).toHaveLength(shared.length);
    expect(mapped.toSpliced(at, 1)).toEqual(expected.body.email.toSpliced(at, 1));
    expect(mapped[at]).toEqual((await call('/v3/identity/map', { email: [email] })).json.body.email[0]);
    expect((await call('/v2/identity/map', { email: [] })).http).toBe(200);
    expect((await call('/v2/identity/buckets', { since_timestamp: Date.now() - 3_600_000 })).http).toBe(200);
    expect((await call('/v2/key/bidstream', undefined)).http).toBe(200);
    expect((await call('/v2/token/generate', {})).http).toBe(400);
    // A hundred users opt out repeatedly: repeated opt-outs must not add records.
    expect((await call('/v2/token/logout', { email: `leaver${round % 100}@example.com` })).http).toBe(200);
    expect((await call('/v2/optout/status', { advertising_ids: unknownIds })).json.body.opted_out).toEqual([]);
    expect((await fetch(`${url}/metrics`)).status).toBe(200);
  };

  let next = 0;
  const playRounds = async (until: number): Promise<void> => {
    while (next < until) await playRound(next++);
  };
  const load = (until: number) => Promise.all(Array.from({ length: CALLERS }, () => playRounds(until)));

  await load(WARM_UP);
  const before = await memory();
  await load(WARM_UP + ROUNDS);
  const after = await memory();

  expect(next).toBe(WARM_UP + ROUNDS);
  if (before !== undefined) expect(after! - before).toBeLessThan(80_000_000);
}, 180_000);
