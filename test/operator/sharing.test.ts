/** Which participant receives the keys of which sites, at each key endpoint. */

import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createKeys, keyDerivation } from '../../src/operator/crypto/keys.ts';
import { createSecrets } from '../../src/operator/crypto/secrets.ts';
import type { EndpointCall } from '../../src/operator/endpoints/endpoint.ts';
import { keyLatest } from '../../src/operator/endpoints/keys.ts';
import { CACHE_MS } from '../../src/operator/identity/participants.ts';
import { createOperator } from '../../src/operator/index.ts';
import type { Service } from '../../src/operator/service.ts';
import { memoryState } from '../../src/operator/state/memory-state.ts';
import { openAdvertisingToken } from '../../src/operator/tokens/advertising-token.ts';
import { createTestService, NOON, ROOT, SECOND } from './fixtures.ts';

const participants = [
  { siteId: 101, roles: ['GENERATOR', 'ID_READER'] },
  { siteId: 102, roles: ['ID_READER'] },
  { siteId: 103, roles: ['SHARER'] },
  { siteId: 104, roles: ['SHARER'] },
] as const;
type Sharing = Readonly<Record<string, readonly number[]>>;

const create = (sharing?: Sharing) => createTestService({ participants, ...(sharing && { sharing }) });

const keysFor = async (service: ReturnType<typeof create>, siteId: number, path: string) => {
  const as = service.operator.participants.find((one) => one.siteId === siteId)!;
  const { http, json } = await service.call(path, undefined, { as });
  return {
    http,
    json,
    keys: (Array.isArray(json.body) ? json.body : json.body.keys) as { id: number; secret: string; site_id?: number }[],
  };
};

/** The sites whose tokens the participant of `reader` can open, by the keys that it receives. */
const sitesOpenedBy = async (reader: number, sharing?: Sharing) => {
  const { json } = await keysFor(create(sharing), reader, '/v2/key/sharing');
  return json.body.site_data.map(({ id }: { id: number }) => id);
};

test('without permissions: an ID_READER opens the tokens of all sites, a SHARER those of its own', async () => {
  expect(await sitesOpenedBy(102)).toEqual([101, 102, 103, 104]);
  expect(await sitesOpenedBy(103)).toEqual([103]);
});

describe('permissions between sites', () => {
  test('a site that lists its readers is closed to every other ID_READER, and open to a SHARER that it lists', async () => {
    const sharing = { 101: [103] };
    expect(await sitesOpenedBy(101, sharing)).toEqual([101, 102, 103, 104]);
    expect(await sitesOpenedBy(102, sharing)).toEqual([102, 103, 104]);
    expect(await sitesOpenedBy(103, sharing)).toEqual([101, 103]);
    expect(await sitesOpenedBy(104, sharing)).toEqual([104]);
  });

  test('an empty list closes a site to everybody else', async () => {
    expect(await sitesOpenedBy(102, { 101: [], 103: [] })).toEqual([102, 104]);
  });

  test.each(['/v2/key/sharing', '/v2/key/bidstream', '/v2/key/latest'])('%s honours them', async (path) => {
    const service = create({ 101: [] });
    const publisher = service.operator.participants[0]!;
    const { advertising_token } = await service.generate({ email: 'user@example.com' }, { as: publisher });
    const opened = async (siteId: number) => {
      const { keys } = await keysFor(service, siteId, path);
      const secrets = new Map(
        keys.map(({ id, secret }) => [id, { secret: Uint8Array.from(Buffer.from(secret, 'base64')) }]),
      );
      return openAdvertisingToken(advertising_token, (id) => secrets.get(id));
    };
    expect(await opened(101)).toMatchObject({ siteId: 101 });
    expect(await opened(102)).toBeUndefined();
  });

  test.each<[sharing: unknown, message: string]>([
    [[101], 'sharing: expected object, got array'],
    [{ publisher: [101] }, 'sharing: expected a whole number from 1 to 16777213, got string'],
    [{ 101: 102 }, 'sharing.101: expected array, got number'],
    [{ 101: ['102'] }, 'sharing.101: expected a whole number from 1 to 16777213, got string'],
    [{ 101: [0] }, 'sharing.101: expected a whole number from 1 to 16777213, got 0'],
  ])('%j is a wrong option', (sharing, message) => {
    expect(() => createOperator({ sharing: sharing as Sharing })).toThrow(message);
  });
});

test('a bidder accepts a token for its lifetime, rounded up to whole seconds, and 10 s more', async () => {
  const service = createTestService({ identityExpires: 2.25, refreshFrom: 1 });
  const { json } = await service.call('/v2/key/bidstream', undefined);
  expect(json.body.max_bidstream_lifetime_seconds).toBe(13);
});

describe('/v2/key/latest', () => {
  test('returns a list of keys, each with its site; the master keys have site -1', async () => {
    const { http, json } = await keysFor(create(), 102, '/v2/key/latest');
    expect([http, json.status, Array.isArray(json.body)]).toEqual([200, 'success', true]);
    expect(json.body.map((key: { site_id: number }) => key.site_id)).toEqual([-1, 101, 102, 103, 104]);
    for (const key of json.body) {
      expect(Object.keys(key).sort()).toEqual(['activates', 'created', 'expires', 'id', 'secret', 'site_id']);
      // Clients drop a key that is no longer listed: its time never ends one.
      expect(key.expires).toBe(NOON / 1000 + 31_536_000);
    }
  });

  test.each([1, 2])('refuses a participant with the reserved site %i', async (siteId) => {
    const { http, json } = await createTestService({ siteId, roles: ['ID_READER'] }).call('/v2/key/latest', undefined);
    expect([http, json]).toEqual([401, { status: 'invalid_client', message: `Unexpected client site id ${siteId}` }]);
  });
});

describe('the sites of an answer', () => {
  test('are read once while they are fresh, and then include a new one', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const sites = [101];
    let reads = 0;
    const state = memoryState();
    const siteIds = async () => {
      reads++;
      return [...sites];
    };
    const service = createTestService({
      siteId: 101,
      roles: ['ID_READER'],
      state: { ...state, participants: { ...state.participants, siteIds } },
    });
    const read = async () => (await keysFor(service, 101, '/v2/key/bidstream')).json.body.site_data;
    await Promise.all([read(), read()]);
    sites.push(102);
    expect([await read(), reads]).toEqual([[{ id: 101, domain_names: [] }], 1]);
    vi.advanceTimersByTime(CACHE_MS);
    expect([(await read()).length, reads]).toEqual([2, 2]);
  });

  test('are read again after the state has failed', async () => {
    const state = memoryState();
    let fails = true;
    const siteIds = async () => {
      if (fails) throw new Error('no database');
      return [101];
    };
    const service = createTestService({
      siteId: 101,
      roles: ['ID_READER'],
      state: { ...state, participants: { ...state.participants, siteIds } },
    });
    const http = async () => (await service.call('/v2/key/bidstream', undefined)).http;
    expect(await http()).toBe(500);
    fails = false;
    expect(await http()).toBe(200);
  });
});

test('a key expires a year after the hour of the request: its row is the same for an hour', async () => {
  const service = create();
  const expiries = async (now: number) => {
    service.now = now;
    const { keys } = await keysFor(service, 102, '/v2/key/bidstream');
    return new Set((keys as unknown as { expires: number }[]).map(({ expires }) => expires - NOON / SECOND));
  };
  const year = 31_536_000;
  expect(await expiries(NOON + 3599 * SECOND)).toEqual(new Set([year]));
  expect(await expiries(NOON + 3600 * SECOND)).toEqual(new Set([year + 3600]));
});

test('other requests may run after the rows of each site', async () => {
  const keys = createKeys(keyDerivation(createSecrets(ROOT, 'integration', 'UID2')), [1]);
  const service = {
    settings: { sharing: new Map() },
    participants: { siteIds: async () => [101, 102, 103] },
    keys: { at: async () => keys, rowOf: () => undefined },
  } as unknown as Service;
  let pauses = 0;
  const pause = () => void pauses++;
  const participant = { siteId: 102, roles: new Set(['ID_READER']) };
  const result = await keyLatest.handle({ now: NOON, participant, pause } as unknown as EndpointCall, service);
  const rows = JSON.parse((await result.writeJson!()) as string).body;
  expect([rows.length, pauses]).toEqual([4, 4]);
});
