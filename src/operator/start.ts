/** Starts an operator: opens its state, derives its secrets, and stores the participants from its options. */

import { type Database, migrate } from '../database/index.ts';
import type { ParticipantStatus } from './identity/participants.ts';
import type { OperatorSettings } from './options.ts';
import type { DerivedSecrets, Service } from './service.ts';
import { createService, deriveSecrets } from './service.ts';
import { databaseState } from './state/database-state.ts';
import { openInstallation } from './state/installation.ts';
import { memoryState } from './state/memory-state.ts';
import type { State } from './state/state.ts';
import { TABLES } from './state/tables.ts';

/** Opens a database by folder or URL. Injected, because the operator itself knows neither files nor sockets. */
export type OpenDatabase = (location: string) => Promise<Database>;

/** An operator that can answer requests. */
export interface StartedOperator {
  readonly derived: DerivedSecrets;
  readonly service: Service;
  /** The stored status of each participant from the options. */
  readonly statuses: readonly ParticipantStatus[];
}

const WARNINGS: Partial<Record<ParticipantStatus, string>> = {
  revoked: 'it has been revoked, so the options do not add it again',
  changed: 'it was changed after the options were applied, so the stored settings stay in force',
};

const DIFFERS =
  'its stored site, roles or client secret differ from the options and stay in force; "tessera participants update" changes them';

const openDatabaseState = async (
  database: Database,
  settings: OperatorSettings,
): Promise<{ derived: DerivedSecrets; state: State }> => {
  await migrate(database, TABLES);
  const { root, epochAt } = await openInstallation(database, { ...settings, now: settings.now() });
  const derived = deriveSecrets(settings, root);
  return { derived, state: databaseState(database, derived.secrets, epochAt, settings.logger) };
};

const startService = async (
  settings: OperatorSettings,
  derived: DerivedSecrets,
  state: State,
): Promise<StartedOperator> => {
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
};

/**
 * Start an operator. If the start fails, the database is closed again.
 *
 * @throws {TokenError} `storage_failed`, from the database.
 */
export async function startOperator(settings: OperatorSettings, openDatabase: OpenDatabase): Promise<StartedOperator> {
  if (settings.rootWarning !== undefined) settings.logger?.warn({}, settings.rootWarning);
  // Without a database, the settings always contain a root secret, either given or random.
  if (settings.database === undefined)
    return startService(settings, deriveSecrets(settings, settings.root!), settings.state ?? memoryState());
  const database = await openDatabase(settings.database);
  try {
    const { derived, state } = await openDatabaseState(database, settings);
    return await startService(settings, derived, state).catch(async (error) => {
      await state.close();
      throw error;
    });
  } catch (error) {
    await database.close();
    throw error;
  }
}
