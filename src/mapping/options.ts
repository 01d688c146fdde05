/** What mappings are made from: the options, their defaults, and the refusal of wrong ones at creation. */

import type { Database } from '../database/contract.ts';
import { kindOf, MOST_PARALLEL, refuse, wholeNumber } from '../server/options.ts';
import type { MappingClient, MappingsOptions } from './contract.ts';

/** Checked options, every default filled in. */
export interface Settings {
  readonly client: MappingClient;
  readonly database: string | Database;
  readonly version: 2 | 3;
  readonly bucketMarginMs: number;
  readonly workers: number;
  readonly now: () => number;
}

const HOUR_MS = 3_600_000;
/** Longest margin, ms: a year, in which every bucket rotates. */
const LONGEST_MARGIN_MS = 365 * 24 * HOUR_MS;
const withFunctions = <T>(option: string, expected: string, value: T, names: readonly (keyof T & string)[]): T => {
  if (typeof value !== 'object' || value === null) return refuse(option, expected, kindOf(value));
  const missing = names.find((name) => typeof value[name] !== 'function');
  return missing === undefined ? value : refuse(option, expected, `an object without ${missing}()`);
};

/**
 * Check options and fill in defaults.
 *
 * @throws {TypeError} naming the option, what was expected and what came; never showing a password.
 */
export function settingsOf(options: MappingsOptions): Settings {
  if (typeof options !== 'object' || options === null) return refuse('options', 'object', kindOf(options));
  const { client, database, version = 3, bucketMarginMs = HOUR_MS, workers = 4, now = Date.now } = options;
  if (version !== 2 && version !== 3)
    refuse('version', '2 or 3', typeof version === 'number' ? `${version}` : kindOf(version));
  return {
    client: withFunctions('client', 'a client of tessera-id/server', client, [
      'mapIdentities',
      'mapIdentitiesV2',
      'rotatedBuckets',
      'optOutStatus',
    ]),
    database:
      typeof database === 'string'
        ? database
        : withFunctions('database', 'a folder, postgres://user:password@host:port/name or an open database', database, [
            'query',
            'script',
            'transaction',
            'close',
          ]),
    version,
    bucketMarginMs: wholeNumber('bucketMarginMs', bucketMarginMs, 0, LONGEST_MARGIN_MS),
    workers: wholeNumber('workers', workers, 1, MOST_PARALLEL),
    now: typeof now === 'function' ? now : refuse('now', 'function', kindOf(now)),
  };
}
