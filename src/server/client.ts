/**
 * The client of a publisher's, an advertiser's or a data provider's server: one short method per endpoint.
 *
 * It holds the API key and the client secret, so it belongs on a server, never in a page. What each method sends is
 * in the endpoint files, how it is sent in `call.ts`; the methods for many are bound together in `bulk.ts`.
 */

import { type BulkClient, createBulk } from './bulk.ts';
import { type CallOptions, callOptions, createCall } from './call.ts';
import { type Dii, sentDii } from './dii.ts';
import { generate, optOut, type Refreshable, refresh, type TokenResult, validate } from './endpoints.ts';
import { type ClientOptions, settingsOf } from './options.ts';

/**
 * Every promise and every reading rejects with a TokenError (codes: {@link createCall}), with the reason of an aborted
 * `signal`, or with a TypeError for wrong arguments.
 */
export interface Client extends BulkClient {
  /**
   * Make a token set for a user.
   *
   * @throws {TokenError} `client_error` also for an email that is not valid, before anything is sent.
   * @example
   * const result = await client.generate({ email: 'user@example.com' });
   * if (result.status === 'success') page.send(answerOf(result));
   */
  generate(dii: Dii, options?: CallOptions): Promise<TokenResult>;
  /**
   * Tell whether an advertising token of this participant was generated from `dii`.
   *
   * For tests and troubleshooting. A token that is malformed or another participant's is a `client_error`.
   */
  validate(advertisingToken: string, dii: Dii, options?: CallOptions): Promise<boolean>;
  /**
   * Exchange a refresh token for a newer set. Its response key must be the one that came with it.
   *
   * @throws {TokenError} `refresh_rejected` the service says that the token is invalid or has expired.
   */
  refresh(tokens: Refreshable, options?: CallOptions): Promise<TokenResult>;
  /**
   * Record that a user has opted out, for every participant. For services that take opt-outs (role OPTOUT).
   *
   * @throws {TokenError} `client_error` also for an email that is not valid, before anything is sent.
   */
  optOut(dii: Dii, options?: CallOptions): Promise<void>;
}

const aText = (name: string, value: unknown): string => {
  if (typeof value === 'string' && value) return value;
  throw new TypeError(`${name}: expected text, got ${value === '' ? 'empty text' : typeof value}`);
};

/**
 * Create a client.
 *
 * @throws {TypeError} a wrong option: names it, what was expected and what came.
 * @example
 * const client = createClient({ baseUrl: 'https://operator.example', apiKey, clientSecret });
 */
export function createClient(options: ClientOptions): Client {
  const settings = settingsOf(options);
  const call = createCall(settings);
  const limits = (given: CallOptions | undefined) => callOptions(given, settings.timeoutMs);
  const sent = (dii: Dii) => sentDii(dii, settings.hashLocally);

  return {
    ...createBulk(settings, call),
    generate: async (dii, given) => generate(call, sent(dii), limits(given)),
    validate: async (advertisingToken, dii, given) =>
      validate(call, aText('advertisingToken', advertisingToken), sent(dii), limits(given)),
    refresh: async (tokens, given) => {
      const refreshToken = aText('tokens.refreshToken', tokens?.refreshToken);
      const responseKeyB64 = aText('tokens.responseKeyB64', tokens?.responseKeyB64);
      return refresh(call, { refreshToken, responseKeyB64 }, limits(given));
    },
    optOut: async (dii, given) => optOut(call, sent(dii), limits(given)),
  };
}
