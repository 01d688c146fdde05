/// <reference types="node" />
/** What the processes of `tessera operator --processes` must agree on: their number, and the database that they share. */

import { createHash } from 'node:crypto';
import { locationKind } from '../../../database/index.ts';
import { availableCores } from '../available-cores.ts';
import type { OperatorSettings } from '../settings.ts';

const MAX_PROCESSES = 1024;

/**
 * Return the number of processes to start; undefined if this process serves alone.
 *
 * @throws {RangeError} if the processes could not share their state.
 */
export function processCount({ processes, database }: OperatorSettings): number | undefined {
  if (processes === undefined) return undefined;
  if (processes !== 'auto' && !(Number.isInteger(processes) && processes >= 1 && processes <= MAX_PROCESSES))
    throw new RangeError(`--processes: expected auto or a number from 1 to ${MAX_PROCESSES}, got ${processes}`);
  if (database !== undefined && locationKind(database) === 'url')
    return processes === 'auto' ? availableCores() : processes;
  if (processes === 1) return undefined;
  const reason =
    database === undefined
      ? 'in memory each process would have its own opt-outs and IDs'
      : 'a folder belongs to one process';
  throw new RangeError(`--processes: expected a database on PostgreSQL (--database postgres://...): ${reason}`);
}

/** User and password may change while the processes run. */
function withoutCredentials(database: string): string {
  if (!URL.canParse(database)) return database;
  const url = new URL(database);
  url.username = '';
  url.password = '';
  for (const name of ['user', 'password']) url.searchParams.delete(name);
  return url.href;
}

/** Return a hash of the database's location, without user and password. Two processes with the same state have the same hash. */
export function databaseFingerprint({ database }: OperatorSettings): string {
  const location = database === undefined ? 'memory' : withoutCredentials(database);
  return createHash('sha256').update(location).digest('hex');
}
