/**
 * Checks the options of an operator and fills in the defaults.
 *
 * An invalid option is a programmer's mistake and throws at once: TypeError for the wrong type or an unknown name, RangeError for
 * a value out of range. A message says which option is wrong, what was expected and what was passed, and never shows a secret.
 */

import { locationKind } from '../../database/index.ts';
import { kindOf, nameFault, typeFault } from '../../token/checks.ts';
import { expectedGot } from '../../token/errors.ts';
import { MAX_LIVE_GENERATIONS, MAX_SITE_ID } from '../crypto/keys.ts';
import type { Environment } from '../crypto/secrets.ts';
import { MAX_PERIOD_SECONDS, MIN_PERIOD_SECONDS } from '../identity/salts.ts';
import { choice, integer, lifetimeMs, requireString, secretBytes, throwTypeIf } from './checks.ts';
import { CREDENTIAL_NAMES, participantsOption } from './credentials.ts';
import type { OperatorOptions, OperatorSettings } from './options.ts';

const LIFETIMES = {
  integration: { identityExpires: 3600, refreshFrom: 900, refreshExpires: 86_400 },
  production: { identityExpires: 86_400, refreshFrom: 3600, refreshExpires: 2_592_000 },
} as const;
const MAX_COUNT = 1_000_000;
const KEY_ROTATION_SECONDS = 2_592_000;
/** With a shorter period, too many generations would open at the same time. */
const MIN_KEY_ROTATION_SECONDS = 86_400;

/** Unknown names are rejected, because a misspelt option would silently keep its default. The types keep both lists complete. */
const OPTION_NAMES = {
  ...CREDENTIAL_NAMES,
  now: 0,
  participants: 0,
  keepStoredParticipant: 0,
  rootSecret: 0,
  storeRootSecret: 0,
  environment: 0,
  scope: 0,
  identityExpires: 0,
  refreshFrom: 0,
  refreshExpires: 0,
  rotationPeriod: 0,
  rateLimit: 0,
  anonymousRateLimit: 0,
  publicMetrics: 0,
  maxBatchSize: 0,
  keyGeneration: 0,
  keyRotation: 0,
  sharing: 0,
  database: 0,
  state: 0,
  logger: 0,
} satisfies Record<keyof OperatorOptions, 0>;

function databaseOption({ database, state }: OperatorOptions): string | undefined {
  if (database === undefined) return undefined;
  requireString('database', database);
  if (state !== undefined) throw new RangeError('database: expected either this option or state, got both');
  locationKind(database);
  return database;
}

function lifetimeOptions(options: OperatorOptions, environment: Environment) {
  const lifetime = (name: keyof (typeof LIFETIMES)[Environment]): number =>
    lifetimeMs(name, options[name] ?? LIFETIMES[environment][name]);
  const identityExpiresMs = lifetime('identityExpires');
  const refreshFromMs = lifetime('refreshFrom');
  const refreshExpiresMs = lifetime('refreshExpires');
  const limit = `identityExpires (${identityExpiresMs / 1000})`;
  if (refreshFromMs > identityExpiresMs)
    throw new RangeError(expectedGot('refreshFrom', `at most ${limit}`, refreshFromMs / 1000));
  if (refreshExpiresMs < identityExpiresMs)
    throw new RangeError(expectedGot('refreshExpires', `at least ${limit}`, refreshExpiresMs / 1000));
  return { identityExpiresMs, refreshFromMs, refreshExpiresMs };
}

function keyOptions({ keyGeneration, keyRotation, database, state }: OperatorOptions) {
  // Stored generations are retired, so their numbers keep growing. Without a database, all of them open, up to the newest.
  const maxGeneration = database === undefined && state === undefined ? MAX_LIVE_GENERATIONS : MAX_COUNT;
  // Without a database, each process would start again with the first generation.
  const standard = database === undefined || keyGeneration !== undefined ? 0 : KEY_ROTATION_SECONDS;
  const seconds = keyRotation ?? standard;
  if (seconds !== 0) integer('keyRotation', seconds, MIN_KEY_ROTATION_SECONDS, MAX_PERIOD_SECONDS);
  return {
    keyGeneration: keyGeneration === undefined ? undefined : integer('keyGeneration', keyGeneration, 1, maxGeneration),
    keyRotationMs: seconds === 0 ? undefined : seconds * 1000,
  };
}

/** Returns the root secret, or undefined if the database keeps it; and a warning to log at the start, if there is one. */
function rootOptions({ rootSecret, storeRootSecret, database }: OperatorOptions, environment: Environment) {
  throwTypeIf(typeFault('storeRootSecret', 'boolean', storeRootSecret ?? false));
  if (storeRootSecret && database === undefined)
    throw new RangeError('storeRootSecret: expected the database option with it, got none');
  const isProduction = environment === 'production';
  if (rootSecret !== undefined) {
    const root = secretBytes('rootSecret', rootSecret);
    // A placeholder that was never replaced. Tests may use one in integration.
    if (isProduction && root.every((byte) => byte === root[0]))
      throw new RangeError(expectedGot('rootSecret', '32 random bytes', '32 equal bytes'));
    return { root, rootWarning: undefined };
  }
  const inDatabase = database !== undefined;
  const where = inDatabase
    ? 'in the database, beside the data that it protects'
    : 'only in this process, and is lost with it';
  return {
    root: inDatabase ? undefined : crypto.getRandomValues(new Uint8Array(32)),
    rootWarning:
      isProduction && !storeRootSecret
        ? `rootSecret: none from a file or the environment, and no storeRootSecret: the root secret is kept ${where}`
        : undefined,
  };
}

/** Returns: site ID of the owner of tokens -> site IDs that may decrypt them. */
function sharingOption(
  sharing: Readonly<Record<number, readonly number[]>> = {},
): ReadonlyMap<number, ReadonlySet<number>> {
  throwTypeIf(typeFault('sharing', 'object', sharing));
  return new Map(
    Object.entries(sharing).map(([owner, readers]) => {
      const siteId = integer('sharing', /^\d+$/.test(owner) ? Number(owner) : owner, 1, MAX_SITE_ID);
      throwTypeIf(typeFault(`sharing.${owner}`, 'array', readers));
      return [siteId, new Set(readers.map((reader) => integer(`sharing.${owner}`, reader, 1, MAX_SITE_ID)))];
    }),
  );
}

/**
 * Check options and fill in the defaults.
 *
 * @throws {TypeError}  for an option with the wrong type or an unknown name.
 * @throws {RangeError} for an option out of its range, or lifetimes that are not in the order refreshFrom, identityExpires,
 *   refreshExpires.
 */
export function resolveOptions(options: OperatorOptions): OperatorSettings {
  throwTypeIf(typeFault('options', 'object', options));
  throwTypeIf(nameFault('', Object.keys(OPTION_NAMES), options));
  const { now = Date.now, logger, state, rateLimit, anonymousRateLimit, publicMetrics = true } = options;
  throwTypeIf(typeFault('now', 'function', now));
  throwTypeIf(typeFault('publicMetrics', 'boolean', publicMetrics));
  if (logger !== undefined && typeof logger?.info !== 'function')
    throw new TypeError(expectedGot('logger', 'an object with the methods info, warn and error', kindOf(logger)));
  const environment = choice('environment', options.environment ?? 'integration', ['integration', 'production']);
  const rotationPeriod = options.rotationPeriod ?? 31_536_000;
  return {
    now,
    environment,
    ...lifetimeOptions(options, environment),
    database: databaseOption(options),
    participants: participantsOption(options),
    ...rootOptions(options, environment),
    scope: choice('scope', options.scope ?? 'UID2', ['UID2', 'EUID']),
    rotationPeriod: integer('rotationPeriod', rotationPeriod, MIN_PERIOD_SECONDS, MAX_PERIOD_SECONDS),
    rateLimit: rateLimit === undefined ? undefined : integer('rateLimit', rateLimit, 1, MAX_COUNT),
    anonymousRateLimit:
      anonymousRateLimit === undefined ? undefined : integer('anonymousRateLimit', anonymousRateLimit, 1, MAX_COUNT),
    publicMetrics,
    maxBatchSize: integer('maxBatchSize', options.maxBatchSize ?? 5000, 1, MAX_COUNT),
    ...keyOptions(options),
    sharing: sharingOption(options.sharing),
    state,
    logger,
  };
}
