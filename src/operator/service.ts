/**
 * The parts of an operator, put together: what the endpoints work with.
 */

import type { Bytes } from '../token/bytes.ts';
import type { Keys } from './keys.ts';
import { createKeys } from './keys.ts';
import type { Limiter } from './limiter.ts';
import { memoryLimiter } from './limiter.ts';
import type { Turns } from './long-answer.ts';
import { createTurns } from './long-answer.ts';
import type { Metrics } from './metrics.ts';
import { createMetrics } from './metrics.ts';
import type { OptOuts } from './opt-outs.ts';
import { createOptOuts } from './opt-outs.ts';
import type { Settings } from './options.ts';
import type { Participants } from './participants.ts';
import { completeCredentials, createParticipants } from './participants.ts';
import type { RawIds } from './raw-ids.ts';
import { createRawIds } from './raw-ids.ts';
import { reservedIdentities } from './reserved.ts';
import type { Credentials } from './roles.ts';
import type { Salts } from './salts.ts';
import { createSalts } from './salts.ts';
import type { Secrets } from './secrets.ts';
import { createSecrets } from './secrets.ts';
import type { State } from './state.ts';
import type { Tokens } from './tokens.ts';
import { createTokens } from './tokens.ts';

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
