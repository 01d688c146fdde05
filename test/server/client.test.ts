import { afterEach, describe, expect, test, vi } from 'vitest';
import { answerOf, createClient, isTokenError, type TokenError } from '../../src/server/index.ts';
import { toB64 } from '../../src/token/bytes.ts';
import { parseAnswer, parseTokenSet } from '../../src/token/token-set.ts';
import { until } from '../support/clock.ts';
import {
  API_KEY,
  broken,
  NOW,
  opened,
  optionsFor,
  plain,
  RESPONSE_KEY,
  refreshed,
  rejectionOf,
  SECRET,
  SET,
  type Step,
  scriptedService,
  silent,
} from './scripted-service.ts';

const EMAIL = 'User@Example.com';
const EMAIL_HASH = 'tMmiiTI7IaAcPpQPFQ65uMVCWH8av9jw4cwf/F5HVRQ=';
const PHONE_HASH = 'EObwtHBUqDNZR33LNSMdtt5cafsYFuGmuY4ZLenlue4=';

const clientOf = (...steps: Step[]) => {
  const service = scriptedService(...steps);
  return { ...service, client: createClient(optionsFor(service)) };
};
const success = opened({ status: 'success', body: SET });

afterEach(() => void vi.useRealTimers());

describe('requests', () => {
  test('an encrypted POST with the API key as bearer token and the local time; redirects are not followed', async () => {
    const { client, seen, inits } = clientOf(success);
    await client.generate({ email: EMAIL });
    expect(seen[0]!.path).toBe('/v2/token/generate');
    expect(seen[0]!.at).toBe(NOW);
    expect(seen[0]!.headers.get('authorization')).toBe(`Bearer ${API_KEY}`);
    expect(seen[0]!.headers.get('content-type')).toBe('application/octet-stream');
    expect(inits[0]).toMatchObject({ method: 'POST', redirect: 'manual' });
  });

  test('emails are hashed by default, other forms are sent as they are', async () => {
    const { client, seen } = clientOf(success);
    await client.generate({ email: EMAIL });
    await client.generate({ phone: '+12345678901' });
    await client.generate({ emailHash: EMAIL_HASH });
    await client.generate({ phoneHash: PHONE_HASH });
    expect(seen.map(({ payload }) => payload)).toEqual([
      { email_hash: EMAIL_HASH },
      { phone: '+12345678901' },
      { email_hash: EMAIL_HASH },
      { phone_hash: PHONE_HASH },
    ]);
  });

  test.each([
    ['all', [{ email_hash: EMAIL_HASH }, { phone_hash: PHONE_HASH }]],
    ['none', [{ email: EMAIL }, { phone: '+12345678901' }]],
  ] as const)('hashLocally: %s', async (hashLocally, payloads) => {
    const service = scriptedService(success);
    const client = createClient({ ...optionsFor(service), hashLocally });
    await client.generate({ email: EMAIL });
    await client.generate({ phone: '+12345678901' });
    expect(service.seen.map(({ payload }) => payload)).toEqual(payloads);
  });

  test('envelope: text sends base64 and reads base64', async () => {
    const service = scriptedService(success);
    const client = createClient({ ...optionsFor(service), envelope: 'text' });
    expect((await client.generate({ email: EMAIL })).status).toBe('success');
    expect(service.seen[0]!.headers.get('content-type')).toBe('text/plain');
  });

  test.each([
    ['another case', { 'content-type': 'Application/Octet-Stream' }],
    ['a parameter', { 'content-type': 'application/octet-stream; charset=utf-8' }],
    ['another type', { 'content-type': 'text/plain' }],
    ['no type', undefined],
  ])('a 200 answer whose content type has %s is read by what it holds', async (_, headers) => {
    const bytesOf = async (...[seen, signal]: Parameters<Step>) =>
      new Uint8Array(await (await success(seen, signal)).arrayBuffer());
    const binary = clientOf(async (...given) => new Response(await bytesOf(...given), { headers: headers ?? {} }));
    expect((await binary.client.generate({ email: EMAIL })).status).toBe('success');
    const text = clientOf(async (...given) => {
      const b64 = `${toB64(await bytesOf(...given))}\n`;
      return new Response(new TextEncoder().encode(b64), { headers: headers ?? {} });
    });
    expect((await text.client.generate({ email: EMAIL })).status).toBe('success');
  });

  test('one signal for many calls causes no warning of a leak', async () => {
    const warnings: string[] = [];
    const onWarning = ({ name }: Error) => warnings.push(name);
    process.on('warning', onWarning);
    const { client } = clientOf(silent);
    const controller = new AbortController();
    const { signal } = controller;
    const calls = Array.from({ length: 30 }, () => client.generate({ email: EMAIL }, { signal }).catch((e) => e));
    controller.abort(new Error('left'));
    expect((await Promise.all(calls)).map((error) => error.message)).toEqual(calls.map(() => 'left'));
    // Node emits warnings in the next tick.
    await new Promise((resolve) => setImmediate(resolve));
    process.off('warning', onWarning);
    expect(warnings).toEqual([]);
  });

  test.each([
    ['email', 'user\t@example.com', 'expected an email address, got a control character'],
    ['email', 'user\udfff@example.com', 'expected an email address, got a control character or a lone surrogate'],
    ['emailHash', '47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=', 'got that of the empty string'],
  ])('%s that a service may accept, but that is nobody’s, sends nothing: %j', async (name, value, reason) => {
    for (const hashLocally of ['emails', 'none'] as const) {
      const service = scriptedService(success);
      const client = createClient({ ...optionsFor(service), hashLocally });
      const { code, message } = await rejectionOf(client.generate({ [name]: value } as never));
      expect([code, service.seen]).toEqual(['client_error', []]);
      expect(message).toContain(reason);
    }
  });

  test.each([
    [{}, 'got none of them'],
    [{ email: EMAIL, phone: '+12345678901' }, 'got email and phone'],
    [{ email: null }, 'got email as null'],
    [null, 'got null'],
    ['user@example.com', 'got string'],
  ])('wrong DII %j is a TypeError', async (dii, got) => {
    const { client, seen } = clientOf(success);
    const e = await rejectionOf(client.generate(dii as never));
    expect(e).toBeInstanceOf(TypeError);
    expect(e.message).toBe(
      `DII: expected an object with exactly one of email, emailHash, phone, phoneHash as a string, ${got}`,
    );
    expect(seen).toEqual([]);
  });
});

describe('generate', () => {
  test('returns the parsed set', async () => {
    const { client } = clientOf(success);
    expect(await client.generate({ email: EMAIL })).toEqual({ status: 'success', tokens: parseTokenSet(SET) });
  });

  test('answerOf returns the wire names that a session reads', async () => {
    const { client } = clientOf(success, opened({ status: 'optout' }));
    const first = answerOf(await client.generate({ email: EMAIL }));
    expect(first).toEqual({ status: 'success', body: SET });
    expect(parseAnswer(first)).toEqual(parseTokenSet(SET));
    expect(answerOf(await client.generate({ email: EMAIL }))).toEqual({ status: 'optout' });
  });

  test.each([
    ['a Promise: await it', Promise.resolve({ status: 'optout' })],
    ['object', { status: 'success' }],
    ['object', SET],
    ['undefined', undefined],
    ['null', null],
    ['string', 'optout'],
  ])('answerOf refuses what is no result: %s', (got, value) => {
    expect(() => answerOf(value as never)).toThrow(`answerOf: expected the result of generate or refresh, got ${got}`);
  });
});

describe('validate', () => {
  test.each([true, false])('returns %s', async (body) => {
    const { client, seen } = clientOf(opened({ status: 'success', body }));
    expect(await client.validate('token', { email: EMAIL })).toBe(body);
    expect(seen[0]).toMatchObject({ path: '/v2/token/validate', payload: { token: 'token', email_hash: EMAIL_HASH } });
  });

  test('an empty token is a TypeError', async () => {
    const { client } = clientOf(success);
    expect(await rejectionOf(client.validate('', { email: EMAIL }))).toBeInstanceOf(TypeError);
  });
});

describe('refresh', () => {
  const set = parseTokenSet(SET);

  test('sends the refresh token unencrypted and decrypts the answer with the response key of its set', async () => {
    const { client, seen } = clientOf(refreshed({ status: 'success', body: SET }));
    expect(await client.refresh(set)).toEqual({ status: 'success', tokens: set });
    expect(seen[0]).toMatchObject({ path: '/v2/token/refresh', payload: SET.refresh_token });
  });

  test('returns optout as a result', async () => {
    const { client } = clientOf(refreshed({ status: 'optout' }));
    expect(await client.refresh({ refreshToken: 'token', responseKeyB64: RESPONSE_KEY })).toEqual({ status: 'optout' });
  });

  test.each(['invalid_token', 'expired_token'])('%s is refresh_rejected', async (status) => {
    const { client } = clientOf(plain(400, { status, message: 'Expired Token presented' }));
    const e = await rejectionOf(client.refresh(set));
    expect(e).toMatchObject({ code: 'refresh_rejected', status: 400 });
    expect(e.message).toBe(`refresh: POST /v2/token/refresh answered 400: ${status}: Expired Token presented`);
  });

  test('an answer encrypted with another key is decrypt_failed', async () => {
    const { client } = clientOf(refreshed({ status: 'success', body: SET }, SECRET));
    expect(await rejectionOf(client.refresh(set))).toMatchObject({ code: 'decrypt_failed', status: 200 });
  });

  test('a set without refresh token or response key is a TypeError', async () => {
    const { client } = clientOf(success);
    expect((await rejectionOf(client.refresh({ refreshToken: 'token' } as never))).message).toBe(
      'tokens.responseKeyB64: expected string, got undefined',
    );
    expect(await rejectionOf(client.refresh(undefined as never))).toBeInstanceOf(TypeError);
  });
});

describe('optOut', () => {
  test('sends the DII as generate does, and returns nothing', async () => {
    const { client, seen } = clientOf(opened({ status: 'success', body: { optout: 'OK' } }));
    expect(await client.optOut({ email: EMAIL })).toBeUndefined();
    expect(seen[0]).toMatchObject({ path: '/v2/token/logout', payload: { email_hash: EMAIL_HASH } });
  });

  test('an invalid_token answer is a client_error here', async () => {
    const { client } = clientOf(plain(400, { status: 'invalid_token', message: 'Invalid Token presented' }));
    const e = await rejectionOf(client.optOut({ phone: '+12345678901' }));
    expect(e).toMatchObject({ code: 'client_error', status: 400 });
    expect(e.message).toContain('Invalid Token presented');
    expect(e.cause).toMatchObject({ code: 'refresh_rejected', status: 400 });
  });
});

describe('failures', () => {
  const wrongAddress =
    'there is no operator at https://operator.example: the path is wrong, or the address belongs to another service';
  const redirects =
    'https://operator.example redirects to another address or to a login page; the client follows no redirect';
  const noOperator = '200: expected base64, got an HTML page: is baseUrl that of an operator?';
  const set = (body: object) => opened({ status: 'success', body });
  /** The answer, the code of the error, and its message from the status on. */
  const faults: [name: string, step: Step, code: string, message: string | RegExp][] = [
    ['401 without a message', plain(401, { status: 'unauthorized' }), 'unauthorized', /^401/],
    ['400', plain(400, { status: 'client_error', message: 'Nope' }), 'client_error', '400: client_error: Nope'],
    ['400 of a proxy', plain(400, '<html>'), 'http_status', '400'],
    [
      '404 of the service',
      plain(404, { status: 'client_error', message: 'Nope' }),
      'http_status',
      '404: client_error: Nope',
    ],
    ['a path without an operator', plain(404, '<html>'), 'http_status', `404; ${wrongAddress}`],
    ['a route for other methods', plain(405, ''), 'http_status', `405; ${wrongAddress}`],
    ['413', plain(413, 'Request Too Long'), 'http_status', /^413/],
    ['429 without a body', plain(429), 'rate_limited', /^429/],
    ['429 with a wait', plain(429, '', { 'retry-after': '7' }), 'rate_limited', '429; it asks to wait 7 s'],
    ['500', plain(500, { status: 'unknown', message: 'Oops' }), 'http_status', /^500/],
    ['500 without a word', plain(500), 'http_status', '500'],
    ['a redirect that the platform hides', () => Response.error(), 'http_status', `0; ${redirects}`],
    [
      'a login page behind a redirect',
      plain(302, '', { location: 'https://elsewhere.example' }),
      'http_status',
      `302; ${redirects}`,
    ],
    ['a page of HTML', plain(200, '<!doctype html>'), 'malformed_response', noOperator],
    ['a page of HTML after a line break', plain(200, '\n<!doctype html>'), 'malformed_response', noOperator],
    ['another text', plain(200, 'no answer!'), 'malformed_response', '200: expected base64, got other text'],
    ['an empty answer', plain(200), 'malformed_response', /^200/],
    ['plain JSON', plain(200, { status: 'success', body: SET }), 'malformed_response', /^200/],
    ['other bytes', plain(200, 'A'.repeat(80)), 'decrypt_failed', /^200/],
    [
      'a replay',
      opened({ status: 'success', body: SET }, { nonce: new Uint8Array(8) }),
      'nonce_mismatch',
      '200: expected the nonce of this request, got another',
    ],
    ['sealed text that is no JSON', opened('success'), 'malformed_response', '200: expected JSON, got other text'],
    [
      'a time that no Date can hold',
      opened({ status: 'success', body: SET }, { at: 9e18 }),
      'malformed_response',
      '200: time: expected epoch milliseconds, got another number',
    ],
    ['a time before 1970', opened({ status: 'success', body: SET }, { at: -1 }), 'malformed_response', /^200: time/],
    ['sealed null', opened('null'), 'malformed_response', /^200/],
    ['no status', opened({ body: SET }), 'malformed_response', /^200: status/],
    [
      'a status that is no text',
      opened({ status: 5 }),
      'malformed_response',
      '200: status: expected string, got number',
    ],
    [
      'an unknown status',
      opened({ status: 'new_status' }),
      'client_error',
      '200: status: expected success or optout, got new_status',
    ],
    [
      'an unknown status with a message',
      opened({ status: 'new_status', message: 'Try later' }),
      'client_error',
      '200: status: expected success or optout, got new_status: Try later',
    ],
    ['no consent', opened({ status: 'insufficient_user_consent' }), 'no_consent', /^200/],
    ['a set without its key', set({ ...SET, refresh_response_key: '' }), 'malformed_response', /^200/],
    ['no body', opened({ status: 'success' }), 'malformed_response', /^200/],
  ];

  test.each(faults)('%s', async (_, step, code, message) => {
    const { client } = clientOf(step);
    const e = await rejectionOf(client.generate({ email: EMAIL }));
    expect(isTokenError(e)).toBe(true);
    const [, said = ''] = /^generate: POST \/v2\/token\/generate answered (.*)$/.exec(e.message) ?? [];
    expect([e.code, said]).toEqual([code, typeof message === 'string' ? message : expect.stringMatching(message)]);
    expect(e.status).toBe(Number.parseInt(said, 10));
  });

  test('a broken connection has no status', async () => {
    const e = await rejectionOf(clientOf(broken).client.generate({ email: EMAIL }));
    expect([isTokenError(e), e.code, e.status]).toEqual([true, 'network', undefined]);
  });

  test.each([0, 3, 7])('an answer whose nonce differs in byte %i alone is nonce_mismatch', async (at) => {
    const { client } = clientOf((seen, signal) =>
      opened({ status: 'success', body: SET }, { nonce: seen.nonce.map((byte, i) => (i === at ? byte ^ 1 : byte)) })(
        seen,
        signal,
      ),
    );
    expect(await rejectionOf(client.generate({ email: EMAIL }))).toMatchObject({ code: 'nonce_mismatch', status: 200 });
  });

  test('the cause of a failure stays in its error', async () => {
    const lost = new TypeError('fetch failed');
    const causeOf = async (step: Step) => (await rejectionOf(clientOf(step).client.generate({ email: EMAIL }))).cause;
    expect(await causeOf(() => Promise.reject(lost))).toBe(lost);
    expect(await causeOf(opened({ status: 'success', body: {} }))).toMatchObject({ name: 'TokenError' });
  });

  test('addresses, numbers, hashes and keys are removed from the message of the service, links are not', async () => {
    const link = 'https://unifiedid.com/docs/getting-started/gs-encryption-decryption for details';
    const secrets = ['user@example.com', '+12345678901', EMAIL_HASH, API_KEY, SECRET];
    const { client } = clientOf(plain(400, { status: 'client_error', message: `See ${link} ${secrets.join(' ')}` }));
    const { message } = await rejectionOf(client.generate({ email: EMAIL }));
    expect(message).toContain(link);
    for (const secret of secrets) expect(message).not.toContain(secret);
  });

  test.each([
    ['an API key that looks like a word is removed', 'no such key: wordkey', 'no such key: [removed]'],
    ['an address in a URL is removed', 'see /users?mail=Ann%40example.com now', 'see [removed] now'],
    ['a phone number with separators is removed', 'number +1 (415) 555-2671 unknown', 'number [removed] unknown'],
    ['other numbers stay', 'at most 5000 items, 1 048 576 bytes', 'at most 5000 items, 1 048 576 bytes'],
    [
      'an address that a long message would cut is removed',
      `${`${API_KEY} `.repeat(35)}${'x'.repeat(30)} ann.of.sales@example.com`,
      'xxx ',
    ],
  ])('in a message of the service: %s', async (_, message, shown) => {
    // A service may give its reason in either field.
    for (const failure of [{ status: 'client_error', message }, { status: message }])
      for (const step of [plain(400, failure), opened(failure)]) {
        const client = createClient({ ...optionsFor(scriptedService(step)), apiKey: 'wordkey' });
        const error = await rejectionOf(client.generate({ email: EMAIL }));
        expect(error.message).toContain(shown);
        expect(error.message).not.toMatch(/wordkey|Ann|ann|2671/);
      }
  });

  test('no error contains a key, secret or DII', async () => {
    for (const step of [broken, ...faults.map(([, step]) => step)]) {
      const { client } = clientOf(step);
      const e = await rejectionOf(client.generate({ email: EMAIL }));
      const told = `${e} ${e.stack} ${e.cause} ${JSON.stringify(e)}`;
      for (const hidden of [API_KEY, SECRET, EMAIL, EMAIL.toLowerCase(), EMAIL_HASH])
        expect(told).not.toContain(hidden);
    }
  });
});

describe('the clock', () => {
  const stale = { status: 'client_error', message: 'Invalid timestamp: Request too old or client time drift.' };

  const dated = (status: number, body: unknown, aheadMs: number) =>
    plain(status, body, { date: new Date(NOW - aheadMs).toUTCString() });
  test.each<[string, Step, code: string, message: RegExp]>([
    ['a refused timestamp', plain(400, stale), 'clock_skew', /Invalid timestamp/],
    [
      'one with a Date header',
      dated(400, stale, 180_000),
      'clock_skew',
      /Invalid timestamp.*; the local clock is 180 s ahead of the service's$/,
    ],
    [
      'a 400 without a message, 60 s ahead',
      dated(400, '', 60_000),
      'clock_skew',
      /the local clock is 60 s ahead of the service's$/,
    ],
    ['a 400 without a message, 59 s ahead', dated(400, '', 59_000), 'http_status', / answered 400$/],
    ['a 400 without a message, behind', dated(400, '', -600_000), 'clock_skew', /600 s behind the service's$/],
    [
      'a 400 with another message',
      dated(400, { status: 'client_error', message: 'Nope' }, -600_000),
      'client_error',
      /: Nope$/,
    ],
    ['a 401', dated(401, stale, 600_000), 'unauthorized', /^((?!local clock).)*$/],
    ['a 500', dated(500, stale, 600_000), 'http_status', /^((?!local clock).)*$/],
  ])('explains a refused time, and nothing else: %s', async (_, step, code, message) => {
    const e = await rejectionOf(clientOf(step).client.generate({ email: EMAIL }));
    expect(e).toMatchObject({ code, message: expect.stringMatching(message) });
  });
});

describe('retryAfterMs of a 429', () => {
  test.each([
    ['7', 7000],
    [new Date(NOW + 9000).toUTCString(), 9000],
    [new Date(NOW - 9000).toUTCString(), 0],
    ['soon', undefined],
    ['1.5', undefined],
    ['-5', undefined],
    ['5, 10', undefined],
    ['9'.repeat(400), Number.MAX_SAFE_INTEGER],
  ])('%s', async (value, retryAfterMs) => {
    const { client } = clientOf(plain(429, '', { 'retry-after': value }));
    const e = await rejectionOf(client.generate({ email: EMAIL }));
    expect(e).toMatchObject({ code: 'rate_limited' });
    expect((e as TokenError).retryAfterMs).toBe(retryAfterMs);
  });

  test('a date is read relative to the Date header of the service', async () => {
    const headers = {
      'retry-after': new Date(NOW + 609_000).toUTCString(),
      date: new Date(NOW + 600_000).toUTCString(),
    };
    const { client } = clientOf(plain(429, '', headers));
    expect(await rejectionOf(client.generate({ email: EMAIL }))).toMatchObject({ retryAfterMs: 9000 });
  });
});

describe('time-out and abort', () => {
  test('a service that does not answer is a timeout after timeoutMs, and the request is aborted', async () => {
    vi.useFakeTimers();
    const { client, inits } = clientOf(silent);
    const rejection = rejectionOf(client.generate({ email: EMAIL }, { timeoutMs: 250 }));
    await until(() => inits.length === 1);
    expect((inits[0]!.signal as AbortSignal).aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(250);
    expect(await rejection).toMatchObject({
      code: 'timeout',
      message: 'generate: POST /v2/token/generate: no answer within 250 ms',
    });
    expect((inits[0]!.signal as AbortSignal).aborted).toBe(true);
  });

  test('the time limit includes the body, and holds if fetch ignores its signal', async () => {
    vi.useFakeTimers();
    const dripping: Step = () => new Response(new ReadableStream({ pull: () => new Promise(() => {}) }));
    for (const step of [dripping, () => new Promise<Response>(() => {})]) {
      const { client, inits } = clientOf(step);
      const rejection = rejectionOf(client.generate({ email: EMAIL }));
      await until(() => inits.length === 1);
      await vi.advanceTimersByTimeAsync(10_000);
      expect(await rejection).toMatchObject({ code: 'timeout' });
    }
  });

  test('no timer remains after an answer', async () => {
    vi.useFakeTimers();
    const { client } = clientOf(success);
    await client.generate({ email: EMAIL });
    expect(vi.getTimerCount()).toBe(0);
  });

  test('no listener remains on the caller’s signal', async () => {
    const { signal } = new AbortController();
    const listeners = new Set<unknown>();
    vi.spyOn(signal, 'addEventListener').mockImplementation((_, listener) => void listeners.add(listener));
    vi.spyOn(signal, 'removeEventListener').mockImplementation((_, listener) => void listeners.delete(listener));
    const call = clientOf(success).client.generate({ email: EMAIL }, { signal });
    expect(listeners.size).toBe(1);
    await call;
    expect(listeners.size).toBe(0);
  });

  test('an aborted signal rejects with its reason', async () => {
    const { client, inits } = clientOf(silent);
    const controller = new AbortController();
    const reason = new Error('the visitor left');
    const rejection = rejectionOf(client.refresh(parseTokenSet(SET), { signal: controller.signal }));
    await until(() => inits.length === 1);
    controller.abort(reason);
    expect(await rejection).toBe(reason);
    expect((inits[0]!.signal as AbortSignal).aborted).toBe(true);
  });
});
