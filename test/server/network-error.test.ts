import { afterEach, expect, test, vi } from 'vitest';
import { createClient } from '../../src/server/index.ts';
import { throwing } from '../support/throwing.ts';
import { API_KEY, optionsFor, rejectionOf, SECRET, scriptedService } from './scripted-service.ts';

afterEach(() => vi.unstubAllEnvs());

test.each([
  ['ECONNREFUSED', 'could not connect to HOST (ECONNREFUSED); is the operator running?'],
  ['ENOTFOUND', 'could not resolve the host name of HOST (ENOTFOUND); is the address correct?'],
  ['UND_ERR_SOCKET', 'the connection to HOST ended before the answer (UND_ERR_SOCKET)'],
  ['CERT_HAS_EXPIRED', 'could not trust the certificate of HOST (CERT_HAS_EXPIRED)'],
  [
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'could not trust the certificate of HOST (DEPTH_ZERO_SELF_SIGNED_CERT): for an authority of your own, start Node with NODE_EXTRA_CA_CERTS=FILE',
  ],
  [
    'ERR_SSL_WRONG_VERSION_NUMBER',
    'could not agree on TLS with HOST (ERR_SSL_WRONG_VERSION_NUMBER); does it expect http?',
  ],
  [
    'HPE_INVALID_CONSTANT',
    'got a malformed answer from HOST (HPE_INVALID_CONSTANT); is it the address of an operator?',
  ],
  ['Z_DATA_ERROR', 'got a malformed answer from HOST (Z_DATA_ERROR); is it the address of an operator?'],
  ['ENEW', 'got no answer from HOST (ENEW)'],
  ['a sentence with a secret', 'got no answer from HOST (a network failure)'],
])('the message says in words what %s means', async (code, message) => {
  const service = scriptedService(
    throwing(new TypeError('fetch failed', { cause: Object.assign(new Error(), { code }) })),
  );
  const client = createClient(optionsFor(service));
  const error = await rejectionOf(client.generate({ email: 'user@example.com' }));
  expect([error.code, error.message]).toEqual([
    'network',
    `generate: POST /v2/token/generate: ${message.replace('HOST', 'https://operator.example')}`,
  ]);
});

test.each([
  // As undici reports a refused tunnel, and a 407 without one.
  [
    new Error('', { cause: new Error('Proxy response (407) !== 200 when HTTP Tunneling') }),
    'requires a user name and a password (407)',
  ],
  [new Error(), 'requires a user name and a password (407)'],
  [new Error('Proxy response (403) !== 200 when HTTP Tunneling'), 'refuses the connection (403)'],
])('a proxy that refuses is named: %s', async (cause, message) => {
  const service = scriptedService(throwing(new TypeError('fetch failed', { cause })));
  const error = await rejectionOf(createClient(optionsFor(service)).generate({ email: 'user@example.com' }));
  expect(error.message).toBe(
    `generate: POST /v2/token/generate: got no answer from https://operator.example: a proxy ${message}`,
  );
});

test('a port that fetch blocks is named as the cause, and whether the operator runs is not asked', async () => {
  const client = createClient({
    baseUrl: 'http://127.0.0.1:9',
    apiKey: API_KEY,
    clientSecret: SECRET,
    retry: { tries: 1 },
  });
  const { code, message } = await rejectionOf(client.generate({ email: 'user@example.com' }));
  expect([code, message]).toEqual([
    'network',
    'generate: POST /v2/token/generate: could not connect to http://127.0.0.1:9 (bad port): fetch blocks this port, because another protocol uses it; run the operator on another port',
  ]);
});

test('a proxy of the environment that fetch does not use is named', async () => {
  vi.stubEnv('HTTPS_PROXY', 'http://proxy.example:3128');
  const service = scriptedService(
    throwing(new TypeError('fetch failed', { cause: Object.assign(new Error(), { code: 'ENOTFOUND' }) })),
  );
  const messageOf = async () =>
    (await rejectionOf(createClient(optionsFor(service)).generate({ email: 'user@example.com' }))).message;
  const remedy =
    ' HTTPS_PROXY is set, but fetch does not use it: with Node 24 or newer, set NODE_USE_ENV_PROXY=1; otherwise pass a fetch that does';
  expect((await messageOf()).endsWith(remedy)).toBe(true);
  vi.stubEnv('NODE_USE_ENV_PROXY', '1');
  expect(await messageOf()).not.toContain('HTTPS_PROXY');
});
