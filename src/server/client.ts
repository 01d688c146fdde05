/**
 * The client with which the server of a publisher, an advertiser or a data provider calls an operator. It holds the API key and
 * the client secret, so it belongs on a server, never on a page.
 */

import { ownMembers, throwIf, typeFault } from '../token/checks.ts';
import { expectedGot } from '../token/errors.ts';
import { type BulkClient, createBulkClient } from './bulk/bulk.ts';
import { createCall } from './call/call.ts';
import { generate, optOut, type Refreshable, refresh, type TokenResult, validate } from './call/endpoints.ts';
import { type Dii, validSentDii } from './dii.ts';
import {
  type CallOptions,
  type ClientOptions,
  callOptions,
  GENERATE_OPTIONS,
  type GenerateOptions,
  settingsOf,
} from './options.ts';

/**
 * Every promise and every iteration rejects with a TokenError (docs/errors.md lists its codes), with the reason of an aborted
 * `signal`, or with a TypeError for invalid arguments.
 */
export interface Client extends BulkClient {
  /**
   * Generate a token set for a user.
   * @throws {TokenError} `client_error`, without a request, if the email address is not valid; `no_consent` if an EUID operator
   *   finds the consent in `tcfConsent` insufficient.
   * @example
   * const result = await client.generate({ email: 'user@example.com' });
   * if (result.status === 'success') page.send(answerOf(result));
   */
  generate(dii: Dii, options?: GenerateOptions): Promise<TokenResult>;
  /**
   * Tell whether an advertising token of this participant was generated from `dii`. For tests and troubleshooting.
   * @throws {TokenError} `client_error` if the token is malformed or belongs to another participant.
   * @example const isTheirs = await client.validate(advertisingToken, { email: 'user@example.com' });
   */
  validate(advertisingToken: string, dii: Dii, options?: CallOptions): Promise<boolean>;
  /**
   * Exchange a refresh token for a newer set. `responseKeyB64` must come from the same set.
   * @throws {TokenError} `refresh_rejected` if the token is invalid or has expired.
   * @example const result = await client.refresh(tokens);
   */
  refresh(tokens: Refreshable, options?: CallOptions): Promise<TokenResult>;
  /**
   * Record that a user has opted out, for every participant. The key needs the role OPTOUT.
   * @throws {TokenError} `client_error`, without a request, if the email address is not valid.
   * @example await client.optOut({ email: 'user@example.com' });
   */
  optOut(dii: Dii, options?: CallOptions): Promise<void>;
}

function checkString(name: string, value: unknown): string {
  throwIf(typeFault(name, 'string', value));
  return value as string;
}

/** Return the part of a token set that a refresh needs. A result of `generate` is not a set, but contains one. */
function checkRefreshable(given: unknown): Refreshable {
  throwIf(typeFault('tokens', 'object', given));
  const { refreshToken, responseKeyB64, status, tokens } = ownMembers(given);
  if (refreshToken === undefined && (tokens !== undefined || status === 'optout'))
    throw new TypeError(expectedGot('tokens', 'a token set', 'a result: if its status is success, pass result.tokens'));
  return {
    refreshToken: checkString('tokens.refreshToken', refreshToken),
    responseKeyB64: checkString('tokens.responseKeyB64', responseKeyB64),
  };
}

/**
 * Create a client.
 * @throws {TypeError} for an invalid option; the message names it, what was expected and what was passed.
 * @example const client = createClient({ baseUrl: 'https://operator.example', apiKey, clientSecret });
 */
export function createClient(options: ClientOptions): Client {
  const settings = settingsOf(options);
  const call = createCall(settings);
  const limits = (given: CallOptions | undefined, names?: Readonly<Record<string, true>>) =>
    callOptions(given, settings.timeoutMs, names);
  const sent = (dii: Dii) => validSentDii(dii, settings.hashLocally);

  return {
    ...createBulkClient(settings, call),
    generate: async (dii, given) => {
      const checked = limits(given, GENERATE_OPTIONS);
      const { tcfConsent } = ownMembers(given);
      if (tcfConsent !== undefined) checkString('tcfConsent', tcfConsent);
      return generate(call, sent(dii), tcfConsent, checked);
    },
    validate: async (advertisingToken, dii, given) =>
      validate(call, checkString('advertisingToken', advertisingToken), sent(dii), limits(given)),
    refresh: async (tokens, given) => refresh(call, checkRefreshable(tokens), limits(given)),
    optOut: async (dii, given) => optOut(call, sent(dii), limits(given)),
  };
}
