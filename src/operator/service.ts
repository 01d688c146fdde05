/** Assembles the parts of an operator that the endpoints use. */

import type { Bytes } from '../token/bytes.ts';
import { keyDerivation } from './crypto/keys.ts';
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
import type { EnvelopeStore } from './state/envelopes.ts';
import { memoryEnvelopes } from './state/envelopes.ts';
import { memoryKeys } from './state/memory-state.ts';
import type { State } from './state/state.ts';
import type { KeySchedule } from './tokens/key-schedule.ts';
import { createKeySchedule, prepareGenerations } from './tokens/key-schedule.ts';
import type { TokenIssuer } from './tokens/token-issuer.ts';
import { createTokenIssuer } from './tokens/token-issuer.ts';

/** The parts of an operator. */
export interface Service {
  readonly settings: OperatorSettings;
  readonly state: State;
  readonly keys: KeySchedule;
  readonly salts: Salts;
  readonly rawIds: RawIds;
  readonly tokens: TokenIssuer;
  readonly optOuts: OptOuts;
  readonly participants: Participants;
  readonly metrics: Metrics;
  readonly envelopes: EnvelopeStore;
  readonly limits: Limits;
}

/** Everything that is derived from the settings and the root secret alone. */
export interface DerivedSecrets {
  readonly secrets: Secrets;
  /** Completed credentials of the participants in the options. */
  readonly credentials: readonly Credentials[];
}

/** Derive the secrets and credentials of an operator from its root secret. */
export function deriveSecrets({ environment, scope, participants }: OperatorSettings, root: Bytes): DerivedSecrets {
  const secrets = createSecrets(root, environment, scope);
  return { secrets, credentials: participants.map((given) => completeCredentials(given, secrets, environment, scope)) };
}

/**
 * Assemble the parts of an operator, and store its first key generation if there is none.
 *
 * @throws {TokenError} `storage_failed`, from the state, or if the state holds a later key generation than the settings specify.
 */
export async function createService(
  settings: OperatorSettings,
  { secrets, credentials }: DerivedSecrets,
  state: State,
): Promise<Service> {
  const { rotationPeriod, refreshExpiresMs, keyGeneration, keyRotationMs } = settings;
  const startedAt = settings.now();
  const store = state.keys ?? memoryKeys();
  await prepareGenerations({ store, refreshExpiresMs }, keyGeneration, startedAt);
  const keys = createKeySchedule({
    store,
    derive: keyDerivation(secrets),
    rotationMs: keyRotationMs,
    refreshExpiresMs,
    logger: settings.logger,
  });
  const salts = createSalts(secrets, rotationPeriod);
  const rawIds = createRawIds(secrets, salts);
  const participants = createParticipants({
    store: state.participants,
    configured: credentials.map((each, index) => ({ ...each, keepStored: settings.participants[index]!.keepStored })),
    secrets,
    now: settings.now,
  });
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
      startedAt,
    }),
    participants,
    metrics: createMetrics(state),
    envelopes: state.envelopes ?? memoryEnvelopes(),
    limits: createLimits(settings, state, participants),
  };
}
