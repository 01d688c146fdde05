import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test } from 'vitest';
import { createClient } from '../../src/server/index.ts';
import { toB64 } from '../../src/token/bytes.ts';
import {
  NOW,
  opened,
  optionsFor,
  plain,
  refreshed,
  rejectionOf,
  SET,
  type Step,
  scriptedService,
} from './scripted-service.ts';

const KIBIBYTE = 1024;
const MEBIBYTE = KIBIBYTE ** 2;

/** An answer without end. `sent` counts its bytes. */
const endless = (status = 200, chunkBytes = MEBIBYTE) => {
  const counter = { sent: 0, isCancelled: false };
  const step: Step = () =>
    new Response(
      new ReadableStream(
        {
          pull: (controller) => {
            counter.sent += chunkBytes;
            controller.enqueue(new Uint8Array(chunkBytes).fill(0x41));
          },
          cancel: () => {
            counter.isCancelled = true;
          },
        },
        { highWaterMark: 0 },
      ),
      { status },
    );
  return { step, counter };
};
const clientOf = (...steps: Step[]) =>
  createClient({ ...optionsFor(scriptedService(...steps)), retry: { tries: 1 }, hashLocally: 'none' });
const dii = { email: 'user@example.com' };

describe('an answer without end is cancelled', () => {
  type Call = (client: ReturnType<typeof clientOf>) => Promise<unknown>;
  test.each<[name: string, maxBytes: number, call: Call]>([
    ['generate', 64 * KIBIBYTE, (client) => client.generate(dii)],
    ['validate', 64 * KIBIBYTE, (client) => client.validate('token', dii)],
    [
      'refresh',
      64 * KIBIBYTE,
      (client) => client.refresh({ refreshToken: 'r', responseKeyB64: SET.refresh_response_key }),
    ],
    ['optOut', 64 * KIBIBYTE, (client) => client.optOut(dii)],
    ['mapIdentities', 16 * MEBIBYTE, (client) => client.mapIdentities([dii]).toArray()],
    ['mapIdentitiesV2', 16 * MEBIBYTE, (client) => client.mapIdentitiesV2([dii]).toArray()],
    ['optOutStatus', 16 * MEBIBYTE, (client) => client.optOutStatus(['id']).toArray()],
    ['rotatedBuckets', 160 * MEBIBYTE, (client) => client.rotatedBuckets(NOW)],
  ])('%s: after %i bytes', async (_, maxBytes, call) => {
    const { step, counter } = endless(200, 16 * KIBIBYTE);
    const error = await rejectionOf(call(clientOf(step)));
    expect([error.code, error.status]).toEqual(['malformed_response', 200]);
    expect(error.message).toContain(`expected at most ${maxBytes} bytes, got more`);
    expect(counter.isCancelled).toBe(true);
    expect(counter.sent).toBeLessThanOrEqual(maxBytes + 16 * KIBIBYTE);
  });

  test('and its start is the message of an error: after 64 KiB, whatever the limit of a good answer', async () => {
    const { step, counter } = endless(503, 16 * KIBIBYTE);
    const error = await rejectionOf(clientOf(step).mapIdentities([dii]).toArray());
    expect([error.code, error.status, counter.isCancelled]).toEqual(['http_status', 503, true]);
    expect(counter.sent).toBeLessThanOrEqual(80 * KIBIBYTE);
  });

  test('an answer of exactly the limit is complete', async () => {
    for (const [length, message] of [
      [65_536, 'expected base64, got other text'],
      [65_537, 'expected at most 65536 bytes, got more'],
    ] as const)
      expect((await rejectionOf(clientOf(plain(200, '!'.repeat(length))).generate(dii))).message).toContain(message);
  });
});

describe('over HTTP', () => {
  const closers: (() => unknown)[] = [];
  afterEach(() => void closers.splice(0).map((close) => close()));

  test('a small compressed answer that becomes a large one is given up', async () => {
    // 64 MiB in 64 kB.
    const body = gzipSync(new Uint8Array(64 * MEBIBYTE));
    const server = createServer((_, response) => {
      response.setHeader('content-encoding', 'gzip').end(body);
    }).listen(0, '127.0.0.1');
    closers.push(() => server.close());
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    const { fetch: _, ...options } = optionsFor({ fetch: undefined });
    const client = createClient({ ...options, baseUrl: `http://127.0.0.1:${port}` });
    const error = await rejectionOf(client.generate(dii));
    expect([error.code, error.message]).toEqual([
      'malformed_response',
      'generate: POST /v2/token/generate answered 200: expected at most 65536 bytes, got more',
    ]);
    server.closeAllConnections();
  });
});

test.each<[string, (bytes: ArrayBuffer) => unknown]>([
  ['without streams', () => undefined],
  ['with the streams of Node', (bytes) => Readable.from([new Uint8Array(bytes)])],
])('a `fetch` %s is read too, up to the same limit', async (_, bodyOf) => {
  const withoutStream =
    (step: Step): Step =>
    async (seen, signal) => {
      const response = await step(seen, signal);
      const bytes = await response.arrayBuffer();
      const { status, headers } = response;
      return { status, headers, body: bodyOf(bytes), arrayBuffer: async () => bytes } as unknown as Response;
    };
  const answer = { status: 'success', body: SET };
  const client = clientOf(
    withoutStream(opened(answer)),
    withoutStream(refreshed(answer)),
    withoutStream(plain(200, 'A'.repeat(65_537))),
    withoutStream(plain(200, '!'.repeat(65_536))),
  );
  expect((await client.generate(dii)).status).toBe('success');
  const keys = { refreshToken: 'r', responseKeyB64: SET.refresh_response_key };
  expect((await client.refresh(keys)).status).toBe('success');
  expect((await rejectionOf(client.generate(dii))).message).toContain('expected at most 65536 bytes');
  expect((await rejectionOf(client.generate(dii))).message).toContain('expected base64');
});

describe('what a terminal or a log would obey', () => {
  const HOSTILE = [
    '\u001b[2J\u001b]0;title\u0007',
    '\u009b31m',
    'a\u202eb',
    'a\u2066b',
    'a b',
    'a\u007f',
    'a\nb',
    'ä',
    'x'.repeat(257),
  ];
  const success = (body: unknown) => opened({ status: 'success', body });
  const LATER = (NOW + 1000) / 1000;

  test.each(HOSTILE)('is no raw ID and no name of a bucket: %j', async (text) => {
    const v2 = { identifier: dii.email, advertising_id: 'id', bucket_id: 'bucket' };
    type Client = ReturnType<typeof clientOf>;
    const map = (client: Client) => client.mapIdentities([dii]).toArray();
    const mapV2 = (client: Client) => client.mapIdentitiesV2([dii]).toArray();
    const cases: [call: (client: Client) => Promise<unknown>, body: unknown][] = [
      [map, { email: [{ u: text, r: LATER }] }],
      [map, { email: [{ u: 'id', p: text, r: LATER }] }],
      [mapV2, { mapped: [{ ...v2, advertising_id: text }] }],
      [mapV2, { mapped: [{ ...v2, bucket_id: text }] }],
      [(client) => client.rotatedBuckets(NOW), [{ bucket_id: text, last_updated: '2026-06-01T00:00:00' }]],
      [
        (client) => client.optOutStatus(['id']).toArray(),
        { opted_out: [{ advertising_id: text, opted_out_since: 1 }] },
      ],
    ];
    for (const [call, body] of cases) {
      const { code, message } = await rejectionOf(call(clientOf(success(body))));
      expect(code).toBe('malformed_response');
      expect(message).toMatch(/expected 1 to 256 printable ASCII characters, got another string$/);
    }
  });

  test('is escaped in reasons and messages', async () => {
    const text = 'no\u001b[2J \u202e\nway';
    const [result] = await clientOf(success({ email: [{ e: text }] }))
      .mapIdentities([{ email: 'a@example.com' }])
      .toArray();
    expect(result).toMatchObject({ status: 'unmapped', reason: 'no\\u001b[2J \\u202e\\u000away' });
    const v2 = success({ mapped: [], unmapped: [{ identifier: 'a@example.com', reason: text }] });
    const [second] = await createClient({ ...optionsFor(scriptedService(v2)), hashLocally: 'none' })
      .mapIdentitiesV2([{ email: 'a@example.com' }])
      .toArray();
    expect(second).toMatchObject({ reason: 'no\\u001b[2J \\u202e\\u000away' });
    for (const step of [
      plain(400, { status: 'client_error', message: text }),
      plain(400, { status: text, message: 'x' }),
      opened({ status: 'client_error', message: text }),
      opened({ status: text }),
    ]) {
      const { message } = await rejectionOf(clientOf(step).generate(dii));
      expect(message).toContain('\\u001b[2J');
      expect(message).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    }
  });
});

test('reasons that are long words do not hold up the client', async () => {
  const list = Array.from({ length: 100 }, (_, at) => ({ email: `user${at}@example.com` }));
  const reason = `${'a'.repeat(1999)} ${'b'.repeat(1000)}`;
  const step = opened({ status: 'success', body: { email: list.map(() => ({ e: reason })) } });
  for (let batch = 0; batch < 60; batch++) {
    const results = await clientOf(step).mapIdentities(list).toArray();
    expect(results).toMatchObject(list.map((given) => ({ dii: given, reason: 'a'.repeat(500) })));
    // The time limit of the test is a timer. A search in the square of the length takes minutes.
    await new Promise((resolve) => setTimeout(resolve));
  }
});

test('a message that is one long word is shown as removed', async () => {
  const message = 'x'.repeat(3000);
  const { message: shown } = await rejectionOf(clientOf(plain(400, { status: 'client_error', message })).generate(dii));
  expect(shown).toMatch(/ answered 400: client_error: \[removed\]$/);
});

test('a raw ID may have 256 characters, and none is no raw ID', async () => {
  const answer = (u: string) => opened({ status: 'success', body: { email: [{ u, r: (NOW + 1000) / 1000 }] } });
  const [longest] = await clientOf(answer('x'.repeat(256)))
    .mapIdentities([dii])
    .toArray();
  expect(longest).toMatchObject({ status: 'mapped', rawId: 'x'.repeat(256), previousRawId: null });
  expect((await rejectionOf(clientOf(answer('')).mapIdentities([dii]).toArray())).message).toMatch(
    /u: expected string, got empty string$/,
  );
});

test('an answer as large as a batch may have is read', async () => {
  const list = Array.from({ length: 5000 }, (_, at) => ({ email: `user${at}@example.com` }));
  const id = toB64(new Uint8Array(33).fill(9));
  const elements = list.map(() => ({ u: id, p: id, r: (NOW + 1000) / 1000 }));
  const client = clientOf(opened({ status: 'success', body: { email: elements } }));
  expect(await client.mapIdentities(list).toArray()).toHaveLength(5000);
});
