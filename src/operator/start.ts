/**
 * From settings to a running operator: its state opened, who it is settled, its participants on record.
 */

import type { Database } from '../database/contract.ts';
import { migrate } from '../database/migrations.ts';
import type { Settings } from './options.ts';
import type { Identity, Service } from './service.ts';
import { createService, identityOf } from './service.ts';
import { lastingState } from './state/database-state.ts';
import { moveIn } from './state/installation.ts';
import type { State } from './state/state.ts';
import { memoryState } from './state/state.ts';
import { TABLES } from './state/tables.ts';

/** Opens a database by its place; brought along, since this room knows nothing of files and sockets. */
export type OpenDatabase = (place: string) => Promise<Database>;

/** An operator that can answer. */
export interface Opened {
  readonly identity: Identity;
  readonly service: Service;
}

const inDatabase = async (database: Database, settings: Settings): Promise<{ identity: Identity; state: State }> => {
  await migrate(database, TABLES);
  const { root, epochAt } = await moveIn(database, { ...settings, now: settings.now() });
  const identity = identityOf(settings, root);
  return { identity, state: lastingState(database, identity.secrets, epochAt) };
};

const running = async (settings: Settings, identity: Identity, state: State): Promise<Opened> => {
  const service = createService(settings, identity, state);
  await service.participants.keep();
  return { identity, service };
};

/**
 * Start an operator. What was opened is closed again where the start fails.
 *
 * @throws {TokenError} `storage_failed`, from the database.
 */
export async function openOperator(settings: Settings, openDatabase: OpenDatabase): Promise<Opened> {
  // Without a database the root secret always is there, given or made.
  if (settings.database === undefined)
    return running(settings, identityOf(settings, settings.root!), settings.state ?? memoryState());
  const database = await openDatabase(settings.database);
  try {
    const { identity, state } = await inDatabase(database, settings);
    return await running(settings, identity, state);
  } catch (error) {
    await database.close();
    throw error;
  }
}
