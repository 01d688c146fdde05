/** The service of an operator: the parts that its endpoints use, and how they start. */

import { type Database, migrate } from '../database/index.ts';
import type { Bytes } from '../token/bytes.ts';
import { keyDerivation } from './crypto/keys.ts';
import { createSecrets, type Secrets } from './crypto/secrets.ts';
import { createOptOuts, type OptOuts } from './identity/opt-outs.ts';
import {
  completeCredentials,
  createParticipants,
  type ParticipantStatus,
  type Participants,
} from './identity/participants.ts';
import { createRawIds, type RawIds } from './identity/raw-ids.ts';
import { reservedIdentities } from './identity/reserved-identities.ts';
import { createSalts, type Salts } from './identity/salts.ts';
import type { OperatorSettings } from './options/options.ts';
import type { EnvelopeStore } from './ports/envelopes.ts';
import { createMetrics, type Metrics } from './ports/metrics.ts';
import type { Credentials } from './ports/roles.ts';
import type { State } from './ports/state.ts';
import { databaseState } from './state/database-state.ts';
import { memoryEnvelopes } from './state/envelopes.ts';
import { openInstallation } from './state/installation.ts';
import { memoryKeys, memoryState } from './state/memory-state.ts';
import { TABLES } from './state/tables.ts';
import { createKeySchedule, type KeySchedule, prepareGenerations } from './tokens/key-schedule.ts';
import { createTokenIssuer, type TokenIssuer } from './tokens/token-issuer.ts';

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
}

interface DerivedSecrets {
  readonly secrets: Secrets;
  readonly credentials: readonly Credentials[];
}

export function deriveSecrets({ environment, scope, participants }: OperatorSettings, root: Bytes): DerivedSecrets {
  const secrets = createSecrets(root, environment, scope);
  return { secrets, credentials: participants.map((given) => completeCredentials(given, secrets, environment, scope)) };
}

/** @throws {TokenError} `storage_failed`, also if the state holds a later key generation than the settings specify. */
async function createService(
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
  };
}

/** Opens a database by folder or URL. Injected, because the operator itself knows neither files nor sockets. */
export type OpenDatabase = (location: string) => Promise<Database>;

const WARNINGS: Partial<Record<ParticipantStatus, string>> = {
  revoked: 'it has been revoked, so the options do not add it again',
  changed:
    'it was changed after the options were applied, or their client secret has been replaced, so the stored settings stay in force',
};

const DIFFERS =
  'its stored site, roles or client secret differ from the options and stay in force; "tessera participants update" changes them';

async function startService(settings: OperatorSettings, derived: DerivedSecrets, state: State) {
  const service = await createService(settings, derived, state);
  const stored = await service.participants.storeConfigured();
  for (const [index, { keyHash, status, isUpdated }] of stored.entries()) {
    const isKept = status === 'changed' && settings.participants[index]!.keepStored;
    const warning = isKept ? DIFFERS : WARNINGS[status];
    const { siteId, roles } = derived.credentials[index]!;
    const name = `participant ${keyHash.slice(0, 16)} of site ${siteId}`;
    if (warning) settings.logger?.warn({}, `${name}: ${warning}`);
    else if (isUpdated)
      settings.logger?.warn(
        {},
        `${name}, roles ${roles.join(',')}: its options have changed, so they replace the stored settings`,
      );
  }
  return { derived, service, statuses: stored.map(({ status }) => status) };
}

/** If the start fails, the database is closed again. */
export async function startOperator(settings: OperatorSettings, openDatabase: OpenDatabase) {
  if (settings.rootWarning !== undefined) settings.logger?.warn({}, settings.rootWarning);
  // Without a database, the settings always contain a root secret, either given or random.
  if (settings.database === undefined)
    return startService(settings, deriveSecrets(settings, settings.root!), settings.state ?? memoryState());
  const database = await openDatabase(settings.database);
  try {
    await migrate(database, TABLES);
    const { root, epochAt } = await openInstallation(database, settings);
    const derived = deriveSecrets(settings, root);
    const state = databaseState(database, derived.secrets, epochAt, settings.logger);
    return await startService(settings, derived, state).catch(async (error) => {
      await state.close();
      throw error;
    });
  } catch (error) {
    await database.close();
    throw error;
  }
}
