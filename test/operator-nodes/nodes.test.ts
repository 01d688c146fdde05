import { describe, expect, test } from 'vitest';
import { MAX_AGE_MS } from '../../src/operator/state/opt-out-memory.ts';
import { freshLocation } from '../database/locations.ts';
import { failNode, GIVEN, type Node, startNode } from './process.ts';

const LOGOUT = '/v2/token/logout';
const rootFrom = (first: number): string =>
  Buffer.from(Array.from({ length: 32 }, (_, index) => first + index)).toString('base64');
const [ROOT, OTHER_ROOT] = [rootFrom(7), rootFrom(8)];

const optOut = async (node: Node, email: string): Promise<void> => {
  const { http, json } = await node.call(LOGOUT, { email });
  expect([http, json]).toEqual([200, { status: 'success', body: { optout: 'OK' } }]);
};
const statusOf = async (node: Node, email: string): Promise<string> =>
  (await node.call('/v2/token/generate', { email })).json.status;

describe('two nodes on one PostgreSQL', () => {
  const startTwo = async (): Promise<[Node, Node]> => {
    const place = await freshLocation('postgres');
    // Both start at once on an empty database: the first one creates the tables and the root secret.
    return Promise.all([startNode(['--database', place]), startNode(['--database', place])]);
  };

  test('share tokens and IDs from the next request on, and opt-outs, at refreshes within a second', async () => {
    const [one, other] = await startTwo();
    const set = await one.generate({ email: 'user@example.com' });
    const refreshed = await other.refresh(set);
    expect(refreshed.json.status).toBe('success');
    expect((await one.refresh(refreshed.json.body)).json.status).toBe('success');
    const payload = { token: refreshed.json.body.advertising_token, email: 'user@example.com' };
    expect((await one.call('/v2/token/validate', payload)).json.body).toBe(true);
    const ids = await Promise.all(
      [one, other].map((node) => node.call('/v3/identity/map', { email: ['user@example.com'] })),
    );
    expect(ids[0]!.json.body).toEqual(ids[1]!.json.body);

    const leavers: [asked: Node, leaver: unknown][] = [];
    for (let at = 0; at < 20; at++) {
      const email = `leaver-${at}@example.com`;
      const [recorder, asked] = at % 2 ? [one, other] : [other, one];
      const leaver = await asked.generate({ email });
      await optOut(recorder, email);
      // Without waiting or retrying: the opt-out has been acknowledged.
      expect(await statusOf(asked, email)).toBe('optout');
      expect((await recorder.refresh(leaver)).json).toEqual({ status: 'optout' });
      leavers.push([asked, leaver]);
    }
    await new Promise((resolve) => setTimeout(resolve, MAX_AGE_MS));
    for (const [asked, leaver] of leavers) expect((await asked.refresh(leaver)).json).toEqual({ status: 'optout' });
  });
});

test('after a restart on a folder every earlier refresh token opens and every opt-out is honoured', async () => {
  const args = ['--database', await freshLocation('pglite')];
  const one = await startNode(args);
  const emails = Array.from({ length: 20 }, (_, at) => `user-${at}@example.com`);
  const sets = await Promise.all(emails.map((email) => one.generate({ email })));
  const leaver = await one.generate({ email: 'leaver@example.com' });
  const { json } = await one.call('/v3/identity/map', { email: ['leaver@example.com'] });
  await optOut(one, 'leaver@example.com');
  expect((await one.stop()).code).toBe(0);

  // Starts without credentials: they are stored.
  const again = await startNode(args, {});
  for (const set of sets) expect((await again.refresh(set)).json.status).toBe('success');
  expect((await again.refresh(leaver)).json).toEqual({ status: 'optout' });
  expect(await statusOf(again, 'leaver@example.com')).toBe('optout');
  const status = await again.call('/v2/optout/status', { advertising_ids: [json.body.email[0].u] });
  expect(status.json.body.opted_out).toHaveLength(1);
});

test('a node killed on PostgreSQL loses no opt-out that it has acknowledged', async () => {
  const args = ['--database', await freshLocation('postgres')];
  const one = await startNode(args);
  const acknowledged: string[] = [];
  let reachTarget = (): void => {};
  const targetReached = new Promise<void>((resolve) => (reachTarget = resolve));
  // Four callers generate tokens and record opt-outs until the node stops answering.
  const caller = async (name: number): Promise<void> => {
    for (let at = 0; ; at++) {
      const email = `leaver-${name}-${at}@example.com`;
      await one.generate({ email });
      await optOut(one, email);
      acknowledged.push(email);
      if (acknowledged.length >= 60) reachTarget();
    }
  };
  const callers = [0, 1, 2, 3].map((name) => caller(name).catch((failure: unknown) => failure));
  await targetReached;
  await one.kill();
  // Each caller ended with a connection error, not with an unexpected answer.
  for (const failure of await Promise.all(callers)) expect(String(failure)).toMatch(/fetch failed|terminated/);

  const again = await startNode(args);
  // One after the other: a request that waits for others too long is answered 503.
  for (const email of acknowledged) expect(await statusOf(again, email)).toBe('optout');
  expect(acknowledged.length).toBeGreaterThanOrEqual(60);
});

describe('a start fails', () => {
  test('with other settings than those of the first start', async () => {
    const args = ['--database', await freshLocation('postgres')];
    const root = { ...GIVEN, TESSERA_ROOT_SECRET: ROOT };
    await (await startNode(args, root)).stop();
    const cases: [env: Record<string, string>, more: string[], message: RegExp][] = [
      [
        { ...GIVEN, TESSERA_ROOT_SECRET: OTHER_ROOT },
        [],
        /expected a root secret with the fingerprint [0-9a-f]{16}, with which .*, got [0-9a-f]{16}/,
      ],
      [GIVEN, [], /expected the root secret with which this database was created, got none/],
      [root, ['--environment', 'production'], /expected environment integration, .*, got production/],
      [root, ['--scope', 'EUID'], /expected scope UID2, .*, got EUID/],
      [root, ['--rotation-period', '365'], /expected rotation period 31536000, .*, got 365/],
    ];
    for (const [env, more, message] of cases) {
      const { code, out, err } = await failNode([...args, ...more], env);
      expect([code, out]).toEqual([1, []]);
      expect(err).toMatch(message);
      for (const secret of [ROOT, OTHER_ROOT, GIVEN.TESSERA_CLIENT_SECRET]) expect(err).not.toContain(secret);
    }
    await (await startNode(args, root)).stop();
  });

  test.each(['--port', '--metrics-port'])(
    'if the %s is in use, stores nothing, and releases the folder',
    async (option) => {
      const { port } = new URL((await startNode([])).url);
      const folder = await freshLocation('pglite');
      const { code, out, err } = await failNode(['--database', folder, option, port], {});
      expect([code, out]).toEqual([1, []]);
      expect(err).toContain(`could not listen on 127.0.0.1:${port} (EADDRINUSE)`);
      expect(err).toContain(`choose another with ${option}, or 0`);
      const again = await startNode(['--database', folder], {});
      expect(again.out.join()).toContain('export TESSERA_API_KEY=');
      await again.stop();
    },
  );
});
