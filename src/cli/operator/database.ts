/** The common part of the commands on an operator's database: the options that specify it, and opening it. */

import type { Command } from 'commander';
import type { Administration } from '../../operator/index.ts';
import { checkExisting } from '../input/existing-database.ts';
import { withFlagNames } from '../input/options.ts';
import type { Io } from '../io.ts';
import { listed } from '../output/style.ts';
import { loadSettings } from './settings.ts';

export interface OperatorDatabaseOptions {
  readonly database?: string;
  readonly rootSecretFile?: string;
  readonly config?: string;
  readonly json?: boolean;
}

export function addDatabaseOptions(command: Command, json = 'print JSON lines'): Command {
  return command
    .option('--database <where>', "the operator's database: a folder that no process has open, or postgres://...")
    .option('--root-secret-file <file>', 'its root secret, unless the database stores it (TESSERA_ROOT_SECRET)')
    .option('--config <file>', "the operator's own --config file, for its database and root secret")
    .option('--json', json);
}

/** Open the administration, and close it after `work`. Throws a {@link RangeError} for no database, or a folder without one. */
export async function administer<T>(
  flags: OperatorDatabaseOptions,
  io: Io,
  work: (administration: Administration) => Promise<T>,
): Promise<T> {
  const { database: location, rootSecretFile, config } = flags;
  const given = {
    ...(location !== undefined && { database: location }),
    ...(rootSecretFile !== undefined && { rootSecretFile }),
    ...(config !== undefined && { config }),
  };
  const { database, rootSecret } = await loadSettings(given, io);
  if (database === undefined)
    throw new RangeError(
      "--database: expected the operator's database, or its configuration file in --config, got neither",
    );
  let administration: Administration | undefined;
  try {
    await checkExisting(database, 'start the operator on it first');
    // Loaded on demand, so that commands that do not need it start faster.
    const { openAdministration } = await import('../../operator/index.ts');
    administration = await openAdministration({ database, rootSecret });
    return await work(administration);
  } catch (error) {
    throw withFlagNames(error, ['database', ...Object.keys(flags)], flags);
  } finally {
    await administration?.close();
  }
}

export function formatTime(at: number | null): string {
  return at === null ? '-' : new Date(at).toISOString().slice(0, 19).concat('Z');
}

/** Print rows: with `--json` one line of JSON for each, otherwise a table with aligned columns under `titles`. */
export function printRows<T>(
  rows: readonly T[],
  titles: readonly string[],
  cellsOf: (row: T) => readonly string[],
  { json }: OperatorDatabaseOptions,
  { out }: Io,
): void {
  const lines = json ? rows.map((row) => JSON.stringify(row)) : listed([titles, ...rows.map(cellsOf)]);
  for (const line of lines) out(line);
}
