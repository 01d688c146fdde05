/** Assembles the parts of an operator that the endpoints use. */

import type { Bytes } from '../token/bytes.ts';
import type { Keys } from './crypto/keys.ts';
import { createKeys } from './crypto/keys.ts';
import type { Secrets } from './crypto/secrets.ts';
import { createSecrets } from './crypto/secrets.ts';
import type { Limits } from './http/limits.ts';
import { createLimits } from './http/limits.ts';
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
import type { OperatorSettings } from './options.ts';
import type { State } from './state/state.ts';
import type { TokenIssuer } from './tokens/token-issuer.ts';
import { createTokenIssuer } from './tokens/token-issuer.ts';

/** The parts of an operator. */
export interface Service {
  readonly settings: OperatorSettings;
  readonly state: State;
  readonly keys: Keys;
  readonly salts: Salts;
  readonly rawIds: RawIds;
  readonly tokens: TokenIssuer;
  readonly optOuts: OptOuts;
  readonly participants: Participants;
  readonly metrics: Metrics;
  readonly limits: Limits;
}

/** What follows from the settings and the root secret alone. */
export interface DerivedSecrets {
  readonly secrets: Secrets;
  /** Completed credentials of the participants that the options name. */
  readonly credentials: readonly Credentials[];
}

/** Derive the secrets and credentials of an operator from its root secret. */
export function deriveSecrets({ environment, scope, participants }: OperatorSettings, root: Bytes): DerivedSecrets {
  const secrets = createSecrets(root, environment, scope);
  return { secrets, credentials: participants.map((given) => completeCredentials(given, secrets, environment, scope)) };
}

/** Assemble the parts of an operator. */
export function createService(
  settings: OperatorSettings,
  { secrets, credentials }: DerivedSecrets,
  state: State,
): Service {
  const { rotationPeriod, keyGeneration } = settings;
  const keys = createKeys(secrets, keyGeneration);
  const salts = createSalts(secrets, rotationPeriod);
  const rawIds = createRawIds(secrets, salts);
  const participants = createParticipants(state.participants, credentials, secrets);
  return {
    settings,
    state,
    keys,
    salts,
    rawIds,
    tokens: createTokenIssuer(keys, rawIds, settings),
    optOuts: createOptOuts({
      store: state.optOuts,
      rawIds,
      salts,
      reserved: reservedIdentities(rawIds),
      rotationPeriod,
      startedAt: settings.now(),
    }),
    participants,
    metrics: createMetrics(),
    limits: createLimits(settings, state, participants),
  };
}
