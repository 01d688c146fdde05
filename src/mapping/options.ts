/**
 * Options of stored mappings: their defaults, and the check that runs when they are created.
 */

import type { Database } from '../database/index.ts';
import { checkConcurrency, checkFunction, checkInteger, checkOptionNames } from '../server/checks.ts';
import { kindOf } from '../token/checks.ts';
import { expectedGot } from '../token/errors.ts';
import type { MappingClient, MappingsOptions } from './types.ts';

export interface MappingSettings {
  readonly client: MappingClient;
  readonly database: string | Database;
  readonly version: 2 | 3;
  readonly bucketMarginMs: number;
  readonly workers: number;
  readonly now: () => number;
}

/** Every option, so that the type names one that is missing here. */
const NAMES: Record<keyof MappingsOptions, true> = {
  client: true,
  database: true,
  version: true,
  bucketMarginMs: true,
  workers: true,
  now: true,
};

const HOUR_MS = 3_600_000;
/** Longest margin, ms: a year, in which every bucket rotates. */
const MAX_MARGIN_MS = 365 * 24 * HOUR_MS;

function checkMethods<T>(option: string, expected: string, value: T, names: readonly (keyof T & string)[]): T {
  const kind = kindOf(value);
  if (kind !== 'object') throw new TypeError(expectedGot(option, expected, kind));
  const missing = names.find((name) => typeof value[name] !== 'function');
  if (missing !== undefined) throw new TypeError(expectedGot(option, expected, `an object without ${missing}()`));
  return value;
}

/**
 * Check the options of stored mappings and fill in the defaults.
 *
 * @throws {TypeError} naming the option, what was expected and what came; never quoting a password.
 */
export function settingsOf(options: MappingsOptions): MappingSettings {
  const own = checkOptionNames('options', NAMES, options);
  const { client, database, version = 3, bucketMarginMs = HOUR_MS, workers = 4, now = Date.now } = own;
  if (version !== 2 && version !== 3)
    throw new TypeError(expectedGot('version', '2 or 3', typeof version === 'number' ? version : kindOf(version)));
  return {
    client: checkMethods('client', 'a client of tessera-id/server', client, [
      'mapIdentities',
      'mapIdentitiesV2',
      'rotatedBuckets',
      'optOutStatus',
    ]),
    database:
      typeof database === 'string'
        ? database
        : checkMethods('database', 'a folder, postgres://user:password@host:port/name or an open database', database, [
            'query',
            'script',
            'transaction',
            'close',
          ]),
    version,
    bucketMarginMs: checkInteger('bucketMarginMs', bucketMarginMs, 0, MAX_MARGIN_MS),
    workers: checkConcurrency('workers', workers),
    now: checkFunction('now', now),
  };
}
