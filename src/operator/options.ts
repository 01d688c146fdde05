/**
 * Options of an operator: checks them and fills in the defaults.
 *
 * An invalid option is a programmer's mistake and throws at once: TypeError for the wrong type or an unknown name, RangeError for
 * a value out of range. A message says which option is wrong, what was expected and what was passed, and never shows a secret.
 */

import { locationKind } from '../database/index.ts';
import type { Bytes } from '../token/bytes.ts';
import { kindOf, nameFault, typeFault } from '../token/checks.ts';
import { expectedGot } from '../token/errors.ts';
import { type ConfiguredCredentials, CREDENTIAL_NAMES, participantsOption } from './credential-options.ts';
import { MAX_LIVE_GENERATIONS } from './crypto/keys.ts';
import type { Environment, Scope } from './crypto/secrets.ts';
import type { GivenCredentials } from './identity/roles.ts';
import { MAX_PERIOD_SECONDS, MIN_PERIOD_SECONDS } from './identity/salts.ts';
import { choice, integer, lifetimeMs, requireString, throwTypeIf } from './option-checks.ts';
import { rootOptions } from './root-option.ts';
import { sharingOption } from './sharing-option.ts';
import type { State } from './state/state.ts';

/** The destination of log lines, for example a pino logger. Fields contain no DII, token, key or secret. */
export interface Logger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/**
 * Options of `createOperator`. Durations are seconds, as on the command line. `apiKey`, `clientSecret`, `siteId` and
 * `roles` are a shorthand for one participant.
 */
export interface OperatorOptions extends GivenCredentials {
  /** The clock, epoch ms. Default: `Date.now`. */
  readonly now?: (() => number) | undefined;
  /**
   * The participants that may call. Missing credentials are derived. If several participants belong to one site, only one may
   * omit its `apiKey`. Default: the participant of the shorthand.
   */
  readonly participants?: readonly GivenCredentials[] | undefined;
  /** If the participant of the shorthand is already stored, keep the stored one, and log any difference. Default: false. */
  readonly keepStoredParticipant?: boolean | undefined;
  /**
   * 32 bytes, or their base64 or hexadecimal. Every ID, key and token is derived from it. Default: random; stored in the database
   * if there is one, otherwise lost when the process ends.
   */
  readonly rootSecret?: Uint8Array | string | undefined;
  /**
   * Store a generated root secret in the database without a warning. In production, a start with neither this option nor
   * `rootSecret` logs a warning, because anyone who can read the database or a backup can decrypt every token. Default: false.
   */
  readonly storeRootSecret?: boolean | undefined;
  /** Default: `integration`. */
  readonly environment?: Environment | undefined;
  /** Default: `UID2`. */
  readonly scope?: Scope | undefined;
  /** Lifetime of an advertising token, s. Default: 3600 in integration, 86,400 in production. */
  readonly identityExpires?: number | undefined;
  /** Age at which a token set is due for a refresh, s. Default: 900 in integration, 3600 in production. */
  readonly refreshFrom?: number | undefined;
  /** Lifetime of a refresh token, s. Default: 86,400 in integration, 2,592,000 in production. */
  readonly refreshExpires?: number | undefined;
  /** Time between two rotations of a salt bucket, whole s, 365 or more. Default: 31,536,000, one year. */
  readonly rotationPeriod?: number | undefined;
  /** Requests per second for each participant, at the mapping and bucket endpoints. Default: no limit. */
  readonly rateLimit?: number | undefined;
  /**
   * Refreshes and rejected requests per second for each client address. It needs the caller's address: see `Operator.fetch`.
   * Default: no limit.
   */
  readonly anonymousRateLimit?: number | undefined;
  /** Whether `fetch` answers `GET /metrics`. `operator.metrics` always does. Default: true. */
  readonly publicMetrics?: boolean | undefined;
  /** Maximum number of identifiers in one mapping request. Default: 5000. */
  readonly maxBatchSize?: number | undefined;
  /**
   * Number of the newest key generation. Without a database, it is 1 to 127: it encrypts tokens, and all generations up to it
   * decrypt them. With a database, a number above the stored generation announces a new generation, which starts to encrypt a day
   * later; a lower number is rejected. Default: the stored number, or 1.
   */
  readonly keyGeneration?: number | undefined;
  /**
   * Time between two key generations, whole s, 86,400 or more; 0 for no rotation. Default: 2,592,000 (30 days) with a database
   * and without `keyGeneration`; otherwise 0.
   */
  readonly keyRotation?: number | undefined;
  /**
   * Where participants and opt-outs are stored: a folder (package `@electric-sql/pglite`), for one process, or
   * `postgres://...` (package `pg`), for several nodes. Default: memory, which is lost when the process ends.
   */
  readonly database?: string | undefined;
  /**
   * Which sites may decrypt which sites' tokens: site ID -> site IDs of the permitted participants, for example `{ "101": [202,
   * 203] }`; `[]` permits none. A site that is not listed permits every participant with the role ID_READER.
   */
  readonly sharing?: Readonly<Record<string, readonly number[]>> | undefined;
  /** Your own store, instead of `database`. */
  readonly state?: State | undefined;
  /** Default: nothing is logged. */
  readonly logger?: Logger | undefined;
}

/** The current settings that are not secret: `Operator.settings`. */
export interface SettingsInForce {
  readonly environment: Environment;
  readonly scope: Scope;
  readonly identityExpiresMs: number;
  readonly refreshFromMs: number;
  readonly refreshExpiresMs: number;
  /** Whole seconds. */
  readonly rotationPeriod: number;
}

/** Checked options with their defaults. */
export interface OperatorSettings extends SettingsInForce {
  readonly now: () => number;
  readonly participants: readonly ConfiguredCredentials[];
  /** Undefined if the database stores it. */
  readonly root: Bytes | undefined;
  /** The warning about how the root secret is kept; undefined if there is none. */
  readonly rootWarning: string | undefined;
  readonly rateLimit: number | undefined;
  readonly anonymousRateLimit: number | undefined;
  readonly publicMetrics: boolean;
  readonly maxBatchSize: number;
  readonly keyGeneration: number | undefined;
  /** Undefined if the keys are not rotated on a schedule. */
  readonly keyRotationMs: number | undefined;
  /** Site ID of the owner of tokens -> site IDs that may decrypt them. */
  readonly sharing: ReadonlyMap<number, ReadonlySet<number>>;
  readonly database: string | undefined;
  readonly state: State | undefined;
  readonly logger: Logger | undefined;
}

const LIFETIMES = {
  integration: { identityExpires: 3600, refreshFrom: 900, refreshExpires: 86_400 },
  production: { identityExpires: 86_400, refreshFrom: 3600, refreshExpires: 2_592_000 },
} as const;
const MAX_COUNT = 1_000_000;
const KEY_ROTATION_SECONDS = 2_592_000;
// With a shorter period, too many generations would open at the same time.
const MIN_KEY_ROTATION_SECONDS = 86_400;

// Unknown names are rejected, because a misspelt option would silently keep its default. The types keep both lists complete.
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

const databaseOption = ({ database, state }: OperatorOptions): string | undefined => {
  if (database === undefined) return undefined;
  requireString('database', database);
  if (state !== undefined) throw new RangeError('database: expected either this option or state, got both');
  locationKind(database);
  return database;
};

const lifetimeOptions = (options: OperatorOptions, environment: Environment) => {
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
};

const keyOptions = ({ keyGeneration, keyRotation, database, state }: OperatorOptions) => {
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
};

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
