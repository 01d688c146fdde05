import { afterEach, describe, expect, test, vi } from 'vitest';
import { type ClientOptions, createClient, type Dii } from '../../src/server/index.ts';
import { fromHex, toB64 } from '../../src/token/bytes.ts';
import { hashTextOf } from '../../src/token/dii.ts';
import { until } from '../support/clock.ts';
import { NOW, opened, optionsFor, plain, rejectionOf, type Step, scriptedService, silent } from './scripted-service.ts';

const LATER = NOW / 1000 + 86_400;

/** The raw ID of a value: readable in the tests, and one that a service may send. */
const idFor = (value: string): string => (/^[!-~]{1,200}$/.test(value) ? `u:${value}` : `u:${value.length}`);

/** Version 3 answers: each value is mapped to `u:` and itself, unless it is a reason. */
const answerV3 = (value: string) =>
  value.includes('invalid')
    ? { e: 'invalid identifier' }
    : value.includes('optout')
      ? { e: 'optout' }
      : { u: idFor(value), p: value.includes('rotated') ? `p:${value}` : null, r: LATER };
const mapper: Step = (seen, signal) => {
  const body: Record<string, unknown[]> = { email: [], email_hash: [], phone: [], phone_hash: [] };
  for (const [form, values] of Object.entries(seen.payload)) body[form] = (values as string[]).map(answerV3);
  return opened({ status: 'success', body })(seen, signal);
};

/** Version 2 answers, in two lists. */
const mapperV2: Step = (seen, signal) => {
  const values = Object.values(seen.payload as Record<string, string[]>).flat();
  const refused = (value: string) => value.includes('invalid') || value.includes('optout');
  const mapped = values
    .filter((value) => !refused(value))
    .map((identifier) => ({ identifier, advertising_id: idFor(identifier), bucket_id: `b:${identifier.length}` }));
  const unmapped = values
    .filter(refused)
    .map((identifier) => ({ identifier, reason: identifier.includes('optout') ? 'optout' : 'invalid identifier' }));
  const body = { mapped, ...(unmapped.length > 0 && { unmapped }) };
  return opened({ status: 'success', body }, { at: NOW + 5000 })(seen, signal);
};

const clientOf = (steps: Step[], options: Partial<ClientOptions> = {}) => {
  const service = scriptedService(...steps);
  const client = createClient({ ...optionsFor(service), retry: { firstMs: 0 }, hashLocally: 'none', ...options });
  return { ...service, client };
};
const phones = (count: number): Dii[] => Array.from({ length: count }, (_, i) => ({ phone: `+${1_000_000_000 + i}` }));
/** A step that holds its answers until it is released; `held` counts the requests in flight. */
const holding = (answer: Step) => {
  const held = { now: 0, most: 0 };
  let release = () => {};
  const gone = new Promise<void>((resolve) => (release = resolve));
  const step: Step = async (seen, signal) => {
    held.most = Math.max(held.most, ++held.now);
    await gone;
    held.now--;
    return answer(seen, signal);
  };
  return { step, held, release: () => release() };
};
const idsOf = (results: readonly object[]) => results.map((result) => ('rawId' in result ? result.rawId : undefined));

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describe('mapIdentities', () => {
  test('maps all four forms in one request and returns each result with the source object', async () => {
    const { client, seen } = clientOf([mapper]);
    const source = [
      { phone: '+12345678901', row: 1 },
      { email: 'rotated@example.com', row: 2 },
      { emailHash: 'hash-of-optout', row: 3 },
      { phoneHash: 'invalid-hash', row: 4 },
      { email: 'user@example.com', row: 5 },
    ] as const;
    const results = await client.mapIdentities(source).toArray();
    expect(results).toEqual([
      {
        dii: source[0],
        status: 'mapped',
        rawId: 'u:+12345678901',
        previousRawId: null,
        remapAt: LATER * 1000,
        answeredAt: NOW,
      },
      {
        dii: source[1],
        status: 'mapped',
        rawId: 'u:rotated@example.com',
        previousRawId: 'p:rotated@example.com',
        remapAt: LATER * 1000,
        answeredAt: NOW,
      },
      { dii: source[2], status: 'optout', answeredAt: NOW },
      { dii: source[3], status: 'unmapped', reason: 'invalid identifier', answeredAt: NOW },
      {
        dii: source[4],
        status: 'mapped',
        rawId: 'u:user@example.com',
        previousRawId: null,
        remapAt: LATER * 1000,
        answeredAt: NOW,
      },
    ]);
    expect(results[4]!.dii).toBe(source[4]);
    expect(seen).toHaveLength(1);
    expect(seen[0]).toMatchObject({
      path: '/v3/identity/map',
      payload: {
        phone: ['+12345678901'],
        email: ['rotated@example.com', 'user@example.com'],
        email_hash: ['hash-of-optout'],
        phone_hash: ['invalid-hash'],
      },
    });
  });

  test('emails are hashed by default, and an invalid one is not sent', async () => {
    const { client, seen } = clientOf([mapper], { hashLocally: undefined });
    const results = await client.mapIdentities([{ email: 'nobody' }, { email: ' User@example.com' }]).toArray();
    const hash = hashTextOf('email', 'user@example.com');
    expect(seen[0]!.payload).toEqual({ email_hash: [hash] });
    expect(results[0]).toEqual({
      dii: { email: 'nobody' },
      status: 'unmapped',
      reason: 'invalid identifier',
      answeredAt: undefined,
    });
    expect(results[1]).toMatchObject({ status: 'mapped', rawId: `u:${hash}` });
  });

  test('nothing is sent for a list without valid DII', async () => {
    const { client, seen } = clientOf([mapper], { hashLocally: 'all' });
    expect(await client.mapIdentities([]).toArray()).toEqual([]);
    expect(await client.mapIdentities([{ phone: '555' }]).toArray()).toMatchObject([{ status: 'unmapped' }]);
    expect(seen).toEqual([]);
  });

  test('nothing is sent before reading starts', async () => {
    const { client, seen } = clientOf([mapper]);
    client.mapIdentities(phones(3));
    await new Promise((resolve) => setImmediate(resolve));
    expect(seen).toEqual([]);
  });

  test('12,001 items are sent as 5,000, 5,000 and 2,001, and results keep the order', async () => {
    const { client, seen } = clientOf([mapper]);
    const source = phones(12_001);
    const results: object[] = [];
    for await (const result of client.mapIdentities(source)) results.push(result);
    // Parallel requests may arrive in any order.
    expect(seen.map(({ payload }) => payload.phone.length).sort((a, b) => b - a)).toEqual([5000, 5000, 2001]);
    expect(idsOf(results)).toEqual(source.map(({ phone }) => `u:${phone}`));
  });

  test('batches() yields one array per request', async () => {
    const { client } = clientOf([mapper]);
    const lengths: number[] = [];
    for await (const batch of client.mapIdentities(phones(7000)).batches()) lengths.push(batch.length);
    expect(lengths).toEqual([5000, 2000]);
  });

  test.each([
    ['binary', 'plain text', (i: number) => `${i}${'x'.repeat(600)}@example.com`],
    ['binary', 'other scripts', (i: number) => `${i}${'é€😊'.repeat(60)}@example.com`],
    ['binary', 'what JSON escapes', (i: number) => `${i}${'"\\'.repeat(150)}@example.com`],
    ['text', 'plain text', (i: number) => `${i}${'x'.repeat(600)}@example.com`],
  ] as const)('no sealed body (%s) is over 1 MB, with %s', async (envelope, _, email) => {
    const { client, seen } = clientOf([mapper], { envelope });
    const source = Array.from({ length: 2500 }, (_, i) => ({ email: email(i) }));
    expect(await client.mapIdentities(source).toArray()).toHaveLength(2500);
    expect(seen.length).toBeGreaterThan(1);
    // All but the last are at least nine tenths full.
    const [, ...filled] = seen.map(({ length }) => length).sort((a, b) => a - b);
    for (const length of filled) {
      expect(length).toBeLessThanOrEqual(1_000_000);
      expect(length).toBeGreaterThan(900_000);
    }
  });

  test('the limit of 1 MB includes the envelope and the field names', async () => {
    const { client, seen } = clientOf([mapper]);
    // 1,000 bytes each in JSON, with quotes and comma.
    const source = Array.from({ length: 1000 }, (_, i) => ({ email: `${i}@`.padEnd(997, 'x') }));
    await client.mapIdentities(source).toArray();
    expect(Math.max(...seen.map(({ length }) => length))).toBeLessThanOrEqual(1_000_000);
  });

  test('DII longer than a request is unmapped, the others are mapped', async () => {
    const { client, seen } = clientOf([mapper]);
    const results = await client
      .mapIdentities([{ email: `${'x'.repeat(1e6)}@b.c` }, { phone: '+12345678901' }])
      .toArray();
    expect(results.map(({ status }) => status)).toEqual(['unmapped', 'mapped']);
    expect(seen).toHaveLength(1);
  });

  test('at most `concurrency` requests are in flight, over all calls of a client', async () => {
    const { step, held, release } = holding(mapper);
    const { client, seen } = clientOf([step], { concurrency: 3 });
    const run = () => client.mapIdentities(phones(30_000)).toArray();
    const runs = Promise.all([run(), run()]);
    await until(() => held.now === 3);
    release();
    await runs;
    expect(seen).toHaveLength(12);
    expect(held.most).toBe(3);
  });
});

describe('faults while mapping', () => {
  test.each<[string, Step]>([
    ['429', plain(429)],
    ['500', plain(500)],
    ['503', plain(503, '', { 'retry-after': '0' })],
    ['a broken connection', () => Promise.reject(new TypeError('fetch failed'))],
  ])('%s is retried with a newly encrypted request', async (_, fault) => {
    const { client, seen } = clientOf([fault, fault, mapper]);
    expect(idsOf(await client.mapIdentities(phones(2)).toArray())).toEqual(['u:+1000000000', 'u:+1000000001']);
    expect(seen).toHaveLength(3);
    expect(seen[0]!.nonce).not.toEqual(seen[2]!.nonce);
  });

  const answering = (body: unknown): Step => opened({ status: 'success', body });
  test.each<[string, unknown]>([
    ['fewer results than DII', { phone: [answerV3('1')] }],
    ['more results than DII', { phone: ['1', '2', '3'].map(answerV3) }],
    ['no array for the form', { email: [] }],
    ['no body', undefined],
    ['a result that is none', { phone: [answerV3('1'), null] }],
    ['a result without u', { phone: [answerV3('1'), { p: null, r: LATER }] }],
    ['a result without r', { phone: [answerV3('1'), { u: 'u', p: null }] }],
    ['a time that no Date can hold', { phone: [answerV3('1'), { u: 'u', p: null, r: 1e13 }] }],
    ['a time in milliseconds', { phone: [answerV3('1'), { u: 'u', p: null, r: LATER * 1000 }] }],
    ['a time before 1970', { phone: [answerV3('1'), { u: 'u', p: null, r: -1 }] }],
    ['an empty p', { phone: [answerV3('1'), { u: 'u', p: '', r: LATER }] }],
    ['a number as p', { phone: [answerV3('1'), { u: 'u', p: 5, r: LATER }] }],
  ])('%s fails the whole batch without a retry', async (_, body) => {
    const { client, seen } = clientOf([answering(body)]);
    const got: object[] = [];
    const reading = async () => {
      for await (const result of client.mapIdentities(phones(2))) got.push(result);
    };
    expect(await rejectionOf(reading())).toMatchObject({ code: 'malformed_response', status: 200 });
    expect(got).toEqual([]);
    expect(seen).toHaveLength(1);
  });

  test('an unknown reason is passed on', async () => {
    const { client } = clientOf([answering({ phone: [{ e: 'moved to Mars' }] })]);
    expect(await client.mapIdentities(phones(1)).toArray()).toMatchObject([
      { status: 'unmapped', reason: 'moved to Mars' },
    ]);
  });

  test.each([[null], [undefined], ['+12345678901'], [5]])('%s as a source is a TypeError at once', (source) => {
    const { client } = clientOf([mapper]);
    expect(() => client.mapIdentities(source as never)).toThrow(TypeError);
  });
});

describe('mapIdentitiesV2', () => {
  test('returns raw ID, bucket and the service’s time in the order of the source, with duplicates', async () => {
    const { client, seen } = clientOf([mapperV2]);
    const source = [{ phone: '+1' }, { phone: 'optout' }, { phone: '+12' }, { phone: 'invalid' }, { phone: '+1' }];
    expect(await client.mapIdentitiesV2(source).toArray()).toEqual([
      { dii: source[0], status: 'mapped', rawId: 'u:+1', bucketId: 'b:2', answeredAt: NOW + 5000 },
      { dii: source[1], status: 'optout', answeredAt: NOW + 5000 },
      { dii: source[2], status: 'mapped', rawId: 'u:+12', bucketId: 'b:3', answeredAt: NOW + 5000 },
      { dii: source[3], status: 'unmapped', reason: 'invalid identifier', answeredAt: NOW + 5000 },
      { dii: source[4], status: 'mapped', rawId: 'u:+1', bucketId: 'b:2', answeredAt: NOW + 5000 },
    ]);
    expect(seen.map(({ path }) => path)).toEqual(['/v2/identity/map']);
  });

  test('sends one request per form of a mixed list', async () => {
    const { client, seen } = clientOf([mapperV2]);
    const source = [{ phone: '+1' }, { email: 'a@b.c' }, { phone: '+2' }];
    expect(idsOf(await client.mapIdentitiesV2(source).toArray())).toEqual(['u:+1', 'u:a@b.c', 'u:+2']);
    // The requests are encrypted in parallel: either may be sent first.
    const sent = seen.map(({ payload }) => payload);
    expect(sent).toHaveLength(2);
    expect(sent).toEqual(expect.arrayContaining([{ phone: ['+1', '+2'] }, { email: ['a@b.c'] }]));
  });

  test('cancels the request of the other form if one is refused', async () => {
    let arrive = () => {};
    const arrived = new Promise<void>((resolve) => (arrive = resolve));
    let other: AbortSignal | null | undefined;
    const { client, seen } = clientOf([
      async (request, signal) => {
        if ('email' in request.payload) {
          other = signal;
          arrive();
          return silent(request, signal);
        }
        await arrived;
        return plain(400, { status: 'client_error' })(request, signal);
      },
    ]);
    const source = [{ phone: '+1' }, { email: 'a@b.c' }];
    expect(await rejectionOf(client.mapIdentitiesV2(source).toArray())).toMatchObject({ status: 400 });
    expect(other?.aborted).toBe(true);
    expect(seen).toHaveLength(2);
  });

  const one = { identifier: '+1000000000', advertising_id: 'u', bucket_id: 'b' };
  test.each<[string, unknown]>([
    ['fewer results', { mapped: [one] }],
    ['more results', { mapped: [one, { ...one, identifier: '+1000000001' }, { ...one, identifier: '+5' }] }],
    ['another DII', { mapped: [one, { ...one, identifier: '+5' }] }],
    ['one twice', { mapped: [one, one] }],
    ['no list', {}],
    ['a result without bucket', { mapped: [one, { ...one, identifier: '+1000000001', bucket_id: undefined }] }],
  ])('%s fails the whole batch', async (_, body) => {
    const { client } = clientOf([opened({ status: 'success', body })]);
    expect(await rejectionOf(client.mapIdentitiesV2(phones(2)).toArray())).toMatchObject({
      code: 'malformed_response',
    });
  });
});

test('the time to map again is in whole milliseconds, whatever fraction of a second the service sends', async () => {
  const body = { email: [], email_hash: [], phone: [{ u: 'u', p: null, r: 1_780_000_000.0014 }], phone_hash: [] };
  const { client } = clientOf([opened({ status: 'success', body })]);
  expect(await client.mapIdentities([{ phone: '+1' }]).toArray()).toMatchObject([{ remapAt: 1_780_000_000_001 }]);
});

test('hashes are sent as they were given: hex stays hex', async () => {
  const hex = 'b4c9a289323b21a01c3e940f150eb9b8c542587f1abfd8f0e1cc1ffc5e475514';
  const { client, seen } = clientOf([mapper], { hashLocally: 'all' });
  await client.mapIdentities([{ emailHash: hex }, { emailHash: toB64(fromHex(hex)) }]).toArray();
  expect(seen[0]!.payload.email_hash).toEqual([hex, toB64(fromHex(hex))]);
});
