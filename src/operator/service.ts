/**
 * The parts of an operator, put together: what the endpoints work with.
 */

import type { Bytes } from '../token/bytes.ts';
import type { Keys } from './crypto/keys.ts';
import { createKeys } from './crypto/keys.ts';
import type { Secrets } from './crypto/secrets.ts';
import { createSecrets } from './crypto/secrets.ts';
import type { Turns } from './http/long-response.ts';
import { createTurns } from './http/long-response.ts';
import type { OptOuts } from './identity/opt-outs.ts';
import { createOptOuts } from './identity/opt-outs.ts';
import type { Participants } from './identity/participants.ts';
import { completeCredentials, createParticipants } from './identity/participants.ts';
import type { RawIds } from './identity/raw-ids.ts';
import { createRawIds } from './identity/raw-ids.ts';
import { reservedIdentities } from './identity/reserved-identities.ts';
import type { Credentials } from './identity/roles.ts';
import type { Salts } from './identity/salts.ts';
import { createSalts } from './identity/salts.ts';
import type { Metrics } from './metrics.ts';
import { createMetrics } from './metrics.ts';
import type { Settings } from './options.ts';
import type { Limiter } from './state/rate-limit.ts';
import { memoryLimiter } from './state/rate-limit.ts';
import type { State } from './state/state.ts';
import type { Tokens } from './tokens/token-issuer.ts';
import { createTokens } from './tokens/token-issuer.ts';

export interface Service {
  readonly settings: Settings;
  readonly state: State;
  readonly keys: Keys;
  readonly salts: Salts;
  readonly rawIds: RawIds;
  readonly tokens: Tokens;
  readonly optOuts: OptOuts;
  readonly participants: Participants;
  readonly metrics: Metrics;
  /** Absent where the options set no limit. */
  readonly limiter: Limiter | undefined;
  readonly turns: Turns;
}

/** What follows from settings and root secret alone. */
export interface Identity {
  readonly secrets: Secrets;
  /** Credentials of the participants that the options named, completed. */
  readonly credentials: readonly Credentials[];
}

/** Who an operator is under a root secret. */
export function identityOf({ environment, scope, participants }: Settings, root: Bytes): Identity {
  const secrets = createSecrets(root, environment, scope);
  return { secrets, credentials: participants.map((one) => completeCredentials(one, secrets, environment, scope)) };
}

/** Put an operator's parts together. */
export function createService(settings: Settings, { secrets, credentials }: Identity, state: State): Service {
  const { rotationPeriod, keyGeneration, rateLimit } = settings;
  const keys = createKeys(secrets, keyGeneration);
  const salts = createSalts(secrets, rotationPeriod);
  const rawIds = createRawIds(secrets, salts);
  return {
    settings,
    state,
    keys,
    salts,
    rawIds,
    tokens: createTokens(keys, rawIds, settings),
    optOuts: createOptOuts({
      store: state.optOuts,
      rawIds,
      salts,
      reserved: reservedIdentities(rawIds),
      rotationPeriod,
      startedAt: settings.now(),
    }),
    participants: createParticipants(state.participants, credentials, secrets),
    metrics: createMetrics(),
    limiter: rateLimit === undefined ? undefined : (state.limiter ?? memoryLimiter)(rateLimit),
    turns: createTurns(),
  };
}
