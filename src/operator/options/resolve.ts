/** Checks the options of an operator, each by itself and with the others, and fills in the defaults. */

import { locationKind } from '../../database/index.ts';
import { kindOf, nameFault, throwIf, typeFault } from '../../token/checks.ts';
import { expectedGot } from '../../token/errors.ts';
import { MAX_LIVE_GENERATIONS } from '../crypto/keys.ts';
import type { Environment } from '../crypto/secrets.ts';
import { checkOptions, integer, secretBytes } from './checks.ts';
import { participantsOption } from './credentials.ts';
import type { OperatorOptions, OperatorSettings } from './options.ts';
import { OPTIONS } from './table.ts';

const KEY_ROTATION_SECONDS = 2_592_000;
/** Without a database, all generations open, up to the newest. Stored ones are retired, so their numbers keep growing. */
const OPTIONS_IN_MEMORY = {
  ...OPTIONS,
  keyGeneration: { ...OPTIONS.keyGeneration, range: [1, MAX_LIVE_GENERATIONS] },
} as const;

function lifetimeOptions(options: OperatorOptions, environment: Environment) {
  const lifetimeMs = (name: 'identityExpires' | 'refreshFrom' | 'refreshExpires'): number => {
    const { default: standard, inProduction } = OPTIONS[name];
    const seconds = options[name] ?? (environment === 'production' ? inProduction : standard);
    return Math.max(1, Math.round(seconds * 1000));
  };
  const identityExpiresMs = lifetimeMs('identityExpires');
  const refreshFromMs = lifetimeMs('refreshFrom');
  const refreshExpiresMs = lifetimeMs('refreshExpires');
  const limit = `identityExpires (${identityExpiresMs / 1000})`;
  if (refreshFromMs > identityExpiresMs)
    throw new RangeError(expectedGot('refreshFrom', `at most ${limit}`, refreshFromMs / 1000));
  if (refreshExpiresMs < identityExpiresMs)
    throw new RangeError(expectedGot('refreshExpires', `at least ${limit}`, refreshExpiresMs / 1000));
  return { identityExpiresMs, refreshFromMs, refreshExpiresMs };
}

function keyOptions({ keyGeneration, keyRotation, database }: OperatorOptions) {
  // Without a database, each process would start again with the first generation.
  const standard = database === undefined || keyGeneration !== undefined ? 0 : KEY_ROTATION_SECONDS;
  const seconds = keyRotation ?? standard;
  return { keyGeneration, keyRotationMs: seconds === 0 ? undefined : seconds * 1000 };
}

/** Returns the root secret, or undefined if the database keeps it; and a warning to log at the start, if there is one. */
function rootOptions({ rootSecret, storeRootSecret, database }: OperatorOptions, environment: Environment) {
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

function sharingOption(
  sharing: Readonly<Record<number, readonly number[]>> = {},
): ReadonlyMap<number, ReadonlySet<number>> {
  return new Map(
    Object.entries(sharing).map(([owner, readers]) => {
      const siteId = integer('sharing', /^\d+$/.test(owner) ? Number(owner) : owner, ...OPTIONS.siteId.range);
      throwIf(typeFault(`sharing.${owner}`, 'array', readers));
      return [siteId, new Set(readers.map((reader) => integer(`sharing.${owner}`, reader, ...OPTIONS.siteId.range)))];
    }),
  );
}

/**
 * Check options and fill in the defaults.
 *
 * @throws {TypeError}  for an option with the wrong type or an unknown name.
 * @throws {RangeError} for one out of its range, or unless refreshFrom <= identityExpires <= refreshExpires.
 */
export function resolveOptions(options: OperatorOptions): OperatorSettings {
  throwIf(typeFault('options', 'object', options));
  // A misspelt option would silently keep its default.
  throwIf(nameFault('', Object.keys(OPTIONS), options));
  const { now = Date.now, database, logger, state, rateLimit, anonymousRateLimit, publicMetrics = true } = options;
  checkOptions(database === undefined && state === undefined ? OPTIONS_IN_MEMORY : OPTIONS, options);
  if (logger !== undefined && typeof logger?.info !== 'function')
    throw new TypeError(expectedGot('logger', 'an object with the methods info, warn and error', kindOf(logger)));
  if (database !== undefined && state !== undefined)
    throw new RangeError('database: expected either this option or state, got both');
  if (database !== undefined) locationKind(database);
  const environment = options.environment ?? OPTIONS.environment.default;
  return {
    now,
    environment,
    ...lifetimeOptions(options, environment),
    database,
    participants: participantsOption(options),
    ...rootOptions(options, environment),
    scope: options.scope ?? OPTIONS.scope.default,
    rotationPeriod: options.rotationPeriod ?? OPTIONS.rotationPeriod.default,
    rateLimit,
    anonymousRateLimit,
    publicMetrics,
    maxBatchSize: options.maxBatchSize ?? OPTIONS.maxBatchSize.default,
    ...keyOptions(options),
    sharing: sharingOption(options.sharing),
    state,
    logger,
  };
}
