import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createAddressLimit } from '../../src/operator/http/caller-limits.ts';
import { createHealthCheck } from '../../src/operator/http/health.ts';
import { createParticipantLookup, MAX_NEW_LOOKUPS } from '../../src/operator/http/participant-lookup.ts';
import { createRateLimit, MAX_KEYS } from '../../src/operator/http/rate-limit.ts';
import { createBodyMemory, MAX_BODY_BYTES, MAX_BODY_MEMORY, readBody } from '../../src/operator/http/request-body.ts';
import type { Participant } from '../../src/operator/identity/participants.ts';
import { memoryState } from '../../src/operator/state/memory-state.ts';
import { toB64 } from '../../src/token/bytes.ts';
import { BASE, createTestService, envelope, NOON } from './fixtures.ts';

describe('the limit of an address', () => {
  const createLimit = () => {
    const clock = { at: 0 };
    const { take } = createAddressLimit(2, () => clock.at);
    const accepts = (address: string | undefined) => take(address) === undefined;
    return { clock, take, accepts };
  };

  test('counts each address, and starts again with each second', () => {
    const { clock, take, accepts } = createLimit();
    expect([1, 2, 3].map(() => accepts('192.0.2.1'))).toEqual([true, true, false]);
    expect(accepts('192.0.2.2')).toBe(true);
    clock.at = 600;
    expect(take('192.0.2.1')).toBe(400);
    clock.at = 1000;
    expect(accepts('192.0.2.1')).toBe(true);
  });

  test('counts an IPv6 network of 64 bits as one address, and an IPv4 address in its IPv6 form as itself', () => {
    const { accepts } = createLimit();
    const network = ['2001:db8:0:1::1', '2001:db8::1:0:0:0:2', '2001:0db8:0000:0001:ffff:ffff:ffff:ffff'];
    expect(network.map(accepts)).toEqual([true, true, false]);
    expect(accepts('2001:db8:0:2::1')).toBe(true);
    const mapped = ['192.0.2.1', '::ffff:c000:201', '0:0:0:0:0:ffff:192.0.2.1', '[::FFFF:C000:0201]:443'];
    expect(mapped.map(accepts)).toEqual([true, true, false, false]);
    expect(accepts('::ffff:c000:202')).toBe(true);
    // Twice: another network, not the one above.
    expect(['::1', '::1'].map(accepts)).toEqual([true, true]);
  });

  test('counts an address with a port as the address', () => {
    const { accepts } = createLimit();
    expect(['192.0.2.1:1000', '192.0.2.1:2000', '192.0.2.1'].map(accepts)).toEqual([true, true, false]);
    expect(accepts('192.0.2.2:1000')).toBe(true);
    expect(['[2001:db8::1]:443', '[2001:db8::2]', '2001:db8::3'].map(accepts)).toEqual([true, true, false]);
    expect(accepts('[2001:db8:1::1]:443')).toBe(true);
  });

  test('does not apply without an address', () => {
    const { accepts } = createLimit();
    expect([1, 2, 3, 4].map(() => accepts(undefined))).toEqual([true, true, true, true]);
  });

  test('counts 65,536 addresses in a second, and all further ones together', () => {
    const clock = { at: 0 };
    const { take } = createRateLimit(1, () => clock.at);
    const taken = Array.from({ length: MAX_KEYS }, (_, key) => take(`${key}`));
    expect(new Set(taken)).toEqual(new Set([undefined]));
    expect([take('one'), take('another'), take('0')]).toEqual([undefined, 1000, 1000]);
    clock.at = 1000;
    expect([take('one'), take('another')]).toEqual([undefined, undefined]);
  });
});

describe('the look-up of participants', () => {
  const KNOWN = { keyHash: 'known' } as Participant;
  const createLookup = (known = ['Bearer known']) => {
    const clock = { at: 0 };
    const asked: (string | undefined)[] = [];
    const find = async (authorization: string | undefined) => {
      asked.push(authorization);
      return known.includes(authorization ?? '') ? KNOWN : undefined;
    };
    const now = () => clock.at;
    return {
      clock,
      asked,
      known,
      find: createParticipantLookup({ find }, createAddressLimit(2, now), createRateLimit(MAX_NEW_LOOKUPS, now)),
    };
  };
  const flood = (find: ReturnType<typeof createLookup>['find'], count = MAX_NEW_LOOKUPS) =>
    Promise.all(Array.from({ length: count }, (_, at) => find(`Bearer ${at}`)));

  test('asks for a known key every time, so that a revocation counts at once', async () => {
    const { asked, find, known } = createLookup();
    expect(await find('Bearer known')).toBe(KNOWN);
    expect(await find('Bearer known')).toBe(KNOWN);
    known.length = 0;
    expect(await find('Bearer known')).toBeUndefined();
    expect(asked).toHaveLength(3);
  });

  test('asks for no new key of an address beyond its limit, and counts each refused request once', async () => {
    const { asked, clock, find } = createLookup(['Bearer known', 'Bearer new']);
    await find('Bearer known', '192.0.2.3');
    for (const key of ['Bearer nobody', undefined]) expect(await find(key, '192.0.2.1')).toBeUndefined();
    for (const key of ['Bearer nobody', 'Bearer another', 'Bearer new', undefined])
      expect(await find(key, '192.0.2.1')).toEqual({ waitMs: 1000 });
    expect(asked).toEqual(['Bearer known', 'Bearer nobody']);
    // Neither a participant who has called before, nor another address.
    expect(await find('Bearer known', '192.0.2.1')).toBe(KNOWN);
    expect(await find('Bearer new', '192.0.2.2')).toBe(KNOWN);
    clock.at = 1000;
    expect(await find('Bearer another', '192.0.2.1')).toBeUndefined();
  });

  test('accepts parallel first requests of a participant, and counts parallel requests with an unknown key', async () => {
    const { asked, find } = createLookup(['Bearer known']);
    const ten = (key: string, address: string) => Promise.all(Array.from({ length: 10 }, () => find(key, address)));
    expect(await ten('Bearer known', '192.0.2.1')).toEqual(Array(10).fill(KNOWN));
    const unknown = await ten('Bearer nobody', '192.0.2.2');
    expect(unknown.filter((answer) => answer === undefined)).toHaveLength(2);
    expect(asked).toEqual(['Bearer known', 'Bearer nobody']);
  });

  test('a flood of unknown keys costs a limited number of queries, and stops no participant who has called before', async () => {
    const { asked, clock, find } = createLookup(['Bearer known', 'Bearer new']);
    clock.at = -1000;
    await find('Bearer known');
    clock.at = 0;
    asked.length = 0;
    const answers = await flood(find, 5 * MAX_NEW_LOOKUPS);
    expect(asked).toHaveLength(MAX_NEW_LOOKUPS);
    expect(answers.filter((answer) => answer === undefined)).toHaveLength(MAX_NEW_LOOKUPS);
    expect(answers.at(-1)).toEqual({ waitMs: 1000 });
    const parallel = Promise.all([find('Bearer known'), find('Bearer known'), find('Bearer known')]);
    expect(await parallel).toEqual([KNOWN, KNOWN, KNOWN]);
    expect(await find('Bearer new')).toEqual({ waitMs: 1000 });
    clock.at = 1000;
    expect(await find('Bearer new')).toBe(KNOWN);
  });

  test('a participant who has called before is still known after the database has failed', async () => {
    const { find, known } = createLookup();
    await find('Bearer known');
    const includes = known.includes;
    known.includes = () => {
      throw new Error('database');
    };
    await expect(find('Bearer known')).rejects.toThrow('database');
    known.includes = includes;
    await flood(find);
    expect(await find('Bearer another')).toEqual({ waitMs: 1000 });
    expect(await find('Bearer known')).toBe(KNOWN);
  });

  test('a flood of unknown keys stops no participant of an operator in memory', async () => {
    const service = createTestService();
    const ask = async (authorization: string, address: string): Promise<number> => {
      const init = { method: 'POST', headers: { authorization }, body: 'x' };
      return (await service.operator.fetch(new Request(`${BASE}/v2/token/generate`, init), { address })).status;
    };
    const unknown = Array.from({ length: 2 * MAX_NEW_LOOKUPS }, (_, at) => ask(`Bearer ${at}`, `192.0.2.${at % 60}`));
    expect(new Set(await Promise.all(unknown))).toEqual(new Set([401]));
    expect(await ask(`Bearer ${service.participant.apiKey}`, '198.51.100.1')).toBe(400);
  });

  test('a flood may stop those who have called, but none of the last 10,000', async () => {
    const clock = { at: 0 };
    const participants = createParticipantLookup(
      { find: async (authorization) => (authorization?.startsWith('Bearer known') ? KNOWN : undefined) },
      undefined,
      createRateLimit(10_001, () => clock.at),
    );
    for (let at = 0; at < 10_000; at++) await participants(`Bearer known ${at}`);
    // It calls again, so that the next one has called longest ago.
    await participants('Bearer known 0');
    await participants('Bearer known 10000');
    expect(await participants('Bearer known 0')).toBe(KNOWN);
    expect(await participants('Bearer known 2')).toBe(KNOWN);
    expect(await participants('Bearer known 1')).toEqual({ waitMs: 1000 });
  });
});

describe('the memory for bodies', () => {
  const announced = (bytes: number) => new Request(BASE, { method: 'POST', headers: { 'content-length': `${bytes}` } });

  test('is limited for each participant, and is given back', () => {
    const { reserve } = createBodyMemory();
    const releases = Array.from({ length: MAX_BODY_MEMORY / MAX_BODY_BYTES }, () =>
      reserve('one', announced(MAX_BODY_BYTES)),
    );
    expect(releases).not.toContain(undefined);
    expect(reserve('one', announced(1))).toBeUndefined();
    expect(reserve('other', announced(1))).toBeDefined();
    releases[0]!();
    expect(reserve('one', announced(MAX_BODY_BYTES))).toBeDefined();
    expect(reserve('one', announced(1))).toBeUndefined();
  });

  // A transfer encoding overrides an announced length.
  const inChunks = (body: BodyInit) => {
    const headers = { 'content-length': '1', 'transfer-encoding': 'chunked' };
    return new Request(BASE, { method: 'POST', body, headers, duplex: 'half' } as RequestInit);
  };

  test.each([
    ['without an announced length', () => new Request(BASE, { method: 'POST', body: 'x' })],
    ['with a transfer encoding', () => inChunks('x')],
  ])('a body %s takes as much as the largest', (_, request) => {
    const { reserve } = createBodyMemory();
    for (let n = 0; n < MAX_BODY_MEMORY / MAX_BODY_BYTES; n++) expect(reserve('one', request())).toBeDefined();
    expect(reserve('one', announced(1))).toBeUndefined();
  });

  test('a body with a transfer encoding is read up to the limit only, whatever length it announces', async () => {
    const body = new ReadableStream({
      start: (controller) => {
        // It ends: what follows the limit is read and discarded.
        for (let n = 0; n < 20; n++) controller.enqueue(new Uint8Array(10));
        controller.close();
      },
    });
    expect(await readBody(inChunks(body), 100)).toBeUndefined();
  });

  test('holds no chunk of a body that arrives without a length, however small its chunks are', async () => {
    // A chunk that were kept would have the content of the last one.
    const chunk = new Uint8Array(1);
    const content = Uint8Array.from({ length: 200 }, (_, index) => index);
    const left = [...content];
    const body = new ReadableStream<Uint8Array>(
      {
        pull: (controller) => {
          const next = left.shift();
          if (next === undefined) return controller.close();
          chunk[0] = next;
          controller.enqueue(chunk);
        },
      },
      { highWaterMark: 0 },
    );
    const request = new Request(BASE, { method: 'POST', body, duplex: 'half' } as RequestInit);
    expect(await readBody(request)).toEqual(content);
  });

  test('is given back after each request, however it ends', async () => {
    const service = createTestService();
    const headers = { authorization: `Bearer ${service.participant.apiKey}` };
    for (let n = 0; n < 2 * (MAX_BODY_MEMORY / MAX_BODY_BYTES); n++) {
      const body = new ReadableStream({ pull: (controller) => controller.error(new Error('disconnected')) });
      const init = { method: 'POST', body, duplex: 'half', headers } as RequestInit;
      const response = await service.operator.fetch(new Request(`${BASE}/v2/token/generate`, init));
      expect(response.status).toBe(400);
    }
  });

  test('is refused with 429 to a participant who sends too many bodies at once, and to no other of its site', async () => {
    const service = createTestService({ participants: [{ apiKey: 'first' }, { apiKey: 'second' }] });
    const { apiKey, clientSecret } = service.participant;
    const headers = { authorization: `Bearer ${apiKey}` };
    const closers: (() => void)[] = [];
    const pending = Array.from({ length: MAX_BODY_MEMORY / MAX_BODY_BYTES }, () => {
      const body = new ReadableStream({ start: (controller) => void closers.push(() => controller.close()) });
      const init = { method: 'POST', body, duplex: 'half', headers } as RequestInit;
      return service.operator.fetch(new Request(`${BASE}/v2/token/generate`, init));
    });
    const sealed = toB64(await envelope({ email: 'a@example.com' }, clientSecret, NOON));
    const refused = await service.post('/v2/token/generate', sealed, headers);
    expect([refused.status, refused.headers.get('retry-after'), await refused.text()]).toEqual([429, '1', '']);
    const [, other] = service.operator.participants;
    expect((await service.call('/v2/token/generate', { email: 'a@example.com' }, { as: other! })).http).toBe(200);
    for (const close of closers) close();
    await Promise.all(pending);
    expect((await service.post('/v2/token/generate', sealed, headers)).status).toBe(200);
  });
});

describe('a state whose methods use the object', () => {
  class OwnState {
    readonly #memory = memoryState();
    readonly participants = this.#memory.participants;
    readonly optOuts = this.#memory.optOuts;
    readonly optOutMemory = new (class {
      readonly #count = 7;
      size() {
        return this.#count;
      }
      lost() {
        return this.#count - 4;
      }
      isCurrent() {
        return this.#count > 0;
      }
    })();
    async check() {
      await this.#memory.check?.();
    }
    close() {
      return this.#memory.close();
    }
  }

  test('is healthy, and appears in the metrics', async () => {
    const service = createTestService({ state: new OwnState() });
    expect((await service.operator.fetch(new Request(`${BASE}/ops/healthcheck`))).status).toBe(200);
    const metrics = await (await service.operator.metrics.fetch(new Request(`${BASE}/metrics`))).text();
    expect(metrics).toContain('\ntessera_opt_outs_in_memory 7\n');
    expect(metrics).toContain('\ntessera_opt_outs_lost 3\n');
    expect(metrics).toContain('\ntessera_opt_outs_current 1\n');
  });
});

describe('anonymousRateLimit', () => {
  // It counts in each second of real time.
  beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
  afterEach(() => void vi.useRealTimers());

  const address = '198.51.100.1';
  const send = (service: ReturnType<typeof createTestService>, path: string, init: RequestInit, from = address) =>
    service.operator.fetch(new Request(BASE + path, { method: 'POST', ...init }), { address: from });

  test('limits the refreshes of an address, good or bad', async () => {
    const service = createTestService({ anonymousRateLimit: 2 });
    const { refresh_token: body } = await service.generate({ email: 'a@example.com' });
    const statuses = [];
    for (const token of [body, '%', body])
      statuses.push((await send(service, '/v2/token/refresh', { body: token })).status);
    expect(statuses).toEqual([200, 400, 429]);
    const limited = await send(service, '/v2/token/refresh', { body, headers: { origin: 'https://page.example' } });
    expect([limited.headers.get('retry-after'), limited.headers.get('access-control-expose-headers')]).toEqual([
      '1',
      'Date, Retry-After',
    ]);
    expect((await send(service, '/v2/token/refresh', { body }, '198.51.100.2')).status).toBe(200);
    expect((await service.post('/v2/token/refresh', body)).status).toBe(200);
  });

  test('limits refused requests, and counts a participant once', async () => {
    const service = createTestService({ anonymousRateLimit: 3 });
    const { apiKey, clientSecret } = service.participant;
    const headers = { authorization: `Bearer ${apiKey}` };
    const generate = async () => {
      const body = toB64(await envelope({ email: 'a@example.com' }, clientSecret, NOON));
      return (await send(service, '/v2/token/generate', { body, headers })).status;
    };
    // Counts once: for the look-up of its API key.
    for (let n = 0; n < 4; n++) expect(await generate()).toBe(200);
    const refused = [
      await send(service, '/v2/token/generate', { body: 'x' }),
      await send(service, '/v2/token/generate', { body: 'not an envelope', headers }),
      await send(service, '/v2/token/generate', { body: 'x', headers: { authorization: 'Bearer nobody' } }),
    ];
    expect(refused.map(({ status }) => status)).toEqual([401, 400, 429]);
    expect(await generate()).toBe(200);
  });

  test('limits participants who lack the role, because nothing shows that they have the client secret', async () => {
    const service = createTestService({ anonymousRateLimit: 3, roles: ['MAPPER'] });
    const headers = { authorization: `Bearer ${service.participant.apiKey}` };
    const statuses = [];
    for (let n = 0; n < 3; n++)
      statuses.push((await send(service, '/v2/token/generate', { body: 'x', headers })).status);
    expect(statuses).toEqual([401, 401, 429]);
  });
});

test('the health check asks the state at most once a second, also while it waits for an answer', async () => {
  const clock = { at: 0 };
  let asked = 0;
  let answer = (_: boolean): void => {};
  const check = () => {
    asked++;
    return new Promise<void>((resolve, reject) => {
      answer = (isHealthy) => (isHealthy ? resolve() : reject(new Error('no')));
    });
  };
  const isHealthy = createHealthCheck({ check }, undefined, () => clock.at);
  const first = Array.from({ length: 50 }, () => isHealthy());
  clock.at = 4000;
  first.push(isHealthy());
  answer(false);
  expect(new Set(await Promise.all(first))).toEqual(new Set([false]));
  clock.at = 4999;
  expect(await isHealthy()).toBe(false);
  expect(asked).toBe(1);
  clock.at = 5000;
  const next = isHealthy();
  answer(true);
  expect([await next, asked]).toEqual([true, 2]);
});

describe('metrics', () => {
  const ask = (path = '/metrics', init: RequestInit = {}) => new Request(BASE + path, init);

  test('on a port of their own are absent from the port of the service', async () => {
    const { operator } = createTestService({ publicMetrics: false });
    expect((await operator.fetch(ask())).status).toBe(404);
    expect((await operator.fetch(ask('/metrics', { method: 'POST' }))).status).toBe(404);
    const own = await operator.metrics.fetch(ask());
    expect([own.status, own.headers.get('content-type')]).toEqual([200, expect.stringMatching(/^text\/plain/)]);
    expect(await own.text()).toContain(
      'tessera_http_requests_total{method="GET",path="/metrics",http="404",status=""} 1',
    );
    expect((await operator.metrics.fetch(ask('/v2/token/refresh', { method: 'POST' }))).status).toBe(404);
    const posted = await operator.metrics.fetch(ask('/metrics', { method: 'POST' }));
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET']);
  });

  test('are answered to GET alone', async () => {
    const { operator } = createTestService();
    const posted = await operator.fetch(ask('/metrics', { method: 'POST' }));
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET']);
  });

  test('cannot be read by a page', async () => {
    const { operator } = createTestService();
    const headers = { origin: 'https://page.example', 'access-control-request-method': 'GET' };
    for (const answer of [
      await operator.fetch(ask('/metrics', { headers })),
      await operator.fetch(ask('/metrics', { headers, method: 'OPTIONS' })),
      await operator.metrics.fetch(ask('/metrics', { headers })),
    ])
      expect([...answer.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
  });
});
