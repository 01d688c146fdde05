/** Options of stored mappings: their defaults, and the check that runs when they are created. */

import { checkConcurrency, checkFunction, checkOptionNames } from '../server/checks.ts';
import { kindOf } from '../token/checks.ts';
import { expectedGot } from '../token/errors.ts';
import type { MappingsOptions } from './types.ts';

export type MappingSettings = ReturnType<typeof settingsOf>;

const NAMES: Record<keyof MappingsOptions, true> = {
  client: true,
  database: true,
  version: true,
  workers: true,
  now: true,
};

const CLIENT_METHODS = ['mapIdentities', 'mapIdentitiesV2', 'rotatedBuckets', 'optOutStatus'] as const;
const EXPECTED_DATABASE = 'a folder, postgres://user:password@host:port/name or an open database';

function checkMethods<T>(option: string, expected: string, value: T, names: readonly (keyof T & string)[]): T {
  const kind = kindOf(value);
  if (kind !== 'object') throw new TypeError(expectedGot(option, expected, kind));
  const missing = names.find((name) => typeof value[name] !== 'function');
  if (missing !== undefined) throw new TypeError(expectedGot(option, expected, `an object without ${missing}()`));
  return value;
}

/** @throws {TypeError} naming the option, what was expected and what came; never quoting a password. */
export function settingsOf(options: MappingsOptions) {
  const own = checkOptionNames('options', NAMES, options);
  const { client, database, version = 3, workers = 4, now = Date.now } = own;
  if (version !== 2 && version !== 3)
    throw new TypeError(expectedGot('version', '2 or 3', typeof version === 'number' ? version : kindOf(version)));
  return {
    client: checkMethods('client', 'a client of tessera-id/server', client, CLIENT_METHODS),
    database:
      typeof database === 'string'
        ? database
        : checkMethods('database', EXPECTED_DATABASE, database, ['query', 'script', 'transaction', 'close']),
    version,
    workers: checkConcurrency('workers', workers),
    now: checkFunction('now', now),
  };
}
