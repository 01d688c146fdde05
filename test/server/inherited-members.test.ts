/** A library may have set members of `Object.prototype`, which every object then has: client and handler take none of them. */

import { afterEach, describe, expect, test } from 'vitest';
import { answerOf, type Client, createClient, tokenHandler } from '../../src/server/index.ts';
import { opened, optionsFor, SECRET, SET, scriptedService } from './scripted-service.ts';

const DII = { email: 'user@example.com' };
const NAMES =
  `client user origins onError tcfConsent timeoutMs bulkTimeoutMs signal maxBytes hashLocally concurrency retry tries
  firstMs maxMs envelope fetch now allowInsecure siteId email phone emailHash phoneHash status body message tokens statusText
  headers cache mode credentials referrer integrity duplex dispatcher window priority cause fatal ignoreBOM stream identity`.split(
    /\s+/,
  );

let inherited: string[] = [];
const inherit = (members: object) => {
  inherited = Object.keys(members);
  Object.assign(Object.prototype, members);
};
/** Before any assertion: with some of these members, the test runner itself fails. */
const endInheritance = () => {
  for (const name of inherited) Reflect.deleteProperty(Object.prototype, name);
};
afterEach(endInheritance);

const request = (headers: Record<string, string> = {}) =>
  new Request('https://www.publisher.example/tokens', { method: 'POST', headers });
const service = () => scriptedService(opened({ status: 'success', body: SET }));

describe.each(NAMES)('%s that every object inherits', (name) => {
  test.each(['planted', ''])('as %j changes no answer of a handler', async (value) => {
    const before = tokenHandler({ client: createClient(optionsFor(service())), user: () => DII });
    const [first, second] = [request(), request()];
    inherit({ [name]: value });
    const answers = await Promise.all([
      before(first),
      (async () => tokenHandler({ client: createClient(optionsFor(service())), user: () => ({ ...DII }) })(second))(),
    ]).catch((error) => error);
    endInheritance();
    expect(answers).toHaveLength(2);
    for (const answer of answers as Response[]) {
      expect(answer.status).toBe(200);
      expect(await answer.json()).toEqual({ status: 'success', body: SET });
    }
  });

  test('changes no other method of a client', async () => {
    const calls: [json: unknown, call: (client: Client) => Promise<unknown>][] = [
      [{ status: 'success', body: true }, (client) => client.validate('token', DII)],
      [{ status: 'success' }, (client) => client.optOut(DII)],
      [
        { status: 'success', body: { email: [{ p: null, u: 1, r: 2 }], phone: [], email_hash: [], phone_hash: [] } },
        (client) => client.rotatedBuckets(0),
      ],
    ];
    for (const [json, call] of calls) {
      const outcome = async () => {
        const client = createClient({ ...optionsFor(scriptedService(opened(json))), retry: { tries: 1 } });
        return call(client).then(
          (result) => JSON.stringify(result),
          ({ code }) => code,
        );
      };
      const expected = await outcome();
      inherit({ [name]: 'planted' });
      const got = await outcome().catch((error) => error);
      endInheritance();
      expect(got).toBe(expected);
    }
  });
});

test('a handler that is created afterwards accepts no page of an inherited origin', async () => {
  const asked = request({ origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' });
  inherit({ origins: ['https://evil.example'] });
  const handler = tokenHandler({ client: createClient(optionsFor(service())), user: () => DII });
  const answer = await handler(asked);
  endInheritance();
  expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([403, null]);
});

test('a client needs its own secret, and answers of the service have their own status', async () => {
  inherit({ clientSecret: SECRET });
  const { clientSecret: _, ...rest } = optionsFor(service());
  let thrown: unknown;
  try {
    createClient(rest as never);
  } catch (error) {
    thrown = error;
  }
  endInheritance();
  expect(thrown).toBeInstanceOf(TypeError);
  const client = createClient(optionsFor(scriptedService(opened({ body: SET }))));
  inherit({ status: 'optout' });
  const outcome = await client.generate(DII).then(
    ({ status }) => status,
    ({ code }) => code,
  );
  endInheritance();
  expect(outcome).toBe('malformed_response');
});

test.each<[what: string, members: object, call: (client: Client) => unknown, expected: string]>([
  ['an opt-out was recorded', { optout: 'OK' }, (client) => client.optOut(DII), 'malformed_response'],
  [
    'a bucket has rotated',
    { bucket_id: 'planted', last_updated: '2026-01-01T00:00:00' },
    (client) => client.rotatedBuckets(0),
    'malformed_response',
  ],
  [
    'nobody has opted out',
    { opted_out: [] },
    (client) => client.optOutStatus(['raw'])[Symbol.asyncIterator]().next(),
    'malformed_response',
  ],
  ['a user has opted out', { status: 'optout' }, () => answerOf({} as never), 'TypeError'],
])('that %s is not read from what every object inherits', async (_, members, call, expected) => {
  const body = 'bucket_id' in members ? [{}] : {};
  const client = createClient({
    ...optionsFor(scriptedService(opened({ status: 'success', body }))),
    retry: { tries: 1 },
  });
  inherit(members);
  const outcome = await (async () => call(client))().then(
    () => 'believed',
    ({ code, name }) => code ?? name,
  );
  endInheritance();
  expect(outcome).toBe(expected);
});
