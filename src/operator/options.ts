/**
 * What an operator may be told at its creation, checked and completed.
 *
 * Wrong options are a programmer's mistake: TypeError or RangeError naming option, expected and got, at once. A
 * secret is never shown in a message. Next: `operator.ts` builds the service from the settings.
 */

import { locationKind } from '../database/location.ts';
import type { Bytes } from '../token/bytes.ts';
import { parseHash } from '../token/index.ts';
import { MAX_SITE_ID } from './keys.ts';
import type { GivenCredentials } from './roles.ts';
import { ROLES } from './roles.ts';
import { LONGEST_PERIOD, SHORTEST_PERIOD } from './salts.ts';
import type { Environment, Scope } from './secrets.ts';
import type { State } from './state.ts';

/** Where log lines go; a pino logger fits. Fields hold no DII, token, key or secret. */
export interface Logger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Options of `createOperator`. Spans are seconds, as in the command line. */
export interface OperatorOptions extends GivenCredentials {
  /** The clock, epoch ms. Default: `Date.now`. */
  readonly now?: (() => number) | undefined;
  /** Who may call, besides the one of the shorthands `apiKey`, `clientSecret`, `siteId`, `roles`. What is left out is made. */
  readonly participants?: readonly GivenCredentials[] | undefined;
  /**
   * 32 bytes or their base64: every ID, key and token comes from it. Default: random; kept in the database where there
   * is one, else nothing outlives the process.
   */
  readonly rootSecret?: Uint8Array | string | undefined;
  /** Default: `integration`. */
  readonly environment?: Environment | undefined;
  /** Default: `UID2`. */
  readonly scope?: Scope | undefined;
  /** Life of an advertising token, s. Default: 3600 in integration, 86,400 in production. */
  readonly identityExpires?: number | undefined;
  /** Age from which a token set should be refreshed, s. Default: 900 in integration, 3600 in production. */
  readonly refreshFrom?: number | undefined;
  /** Life of a refresh token, s. Default: 86,400 in integration, 2,592,000 in production. */
  readonly refreshExpires?: number | undefined;
  /** Whole seconds between two rotations of a salt bucket, 365 or more. Default: 31,536,000, a year. */
  readonly rotationPeriod?: number | undefined;
  /** Requests a second and participant, at the mapping and bucket endpoints. Default: no limit. */
  readonly rateLimit?: number | undefined;
  /** Identifiers in one mapping request. Default: 5000. */
  readonly maxBatchSize?: number | undefined;
  /** Number of the newest generation of keys, 1 to 127: it seals, all up to it open. Default: 1. */
  readonly keyGeneration?: number | undefined;
  /**
   * Where what must last is kept: a folder (package `@electric-sql/pglite`), which one process has for itself, or
   * `postgres://...` (package `pg`), which several nodes share. Default: memory, which ends with the process.
   */
  readonly database?: string | undefined;
  /** In the place of `database`: a store of one's own. */
  readonly state?: State | undefined;
  /** Default: none, nothing is logged. */
  readonly logger?: Logger | undefined;
}

/** Options checked, with their defaults; spans in ms but for the rotation period. */
export interface Settings {
  readonly now: () => number;
  readonly participants: readonly GivenCredentials[];
  /** Undefined: the database keeps it. */
  readonly root: Bytes | undefined;
  readonly environment: Environment;
  readonly scope: Scope;
  readonly identityExpiresMs: number;
  readonly refreshFromMs: number;
  readonly refreshExpiresMs: number;
  /** Whole seconds. */
  readonly rotationPeriod: number;
  readonly rateLimit: number | undefined;
  readonly maxBatchSize: number;
  readonly keyGeneration: number;
  readonly database: string | undefined;
  readonly state: State | undefined;
  readonly logger: Logger | undefined;
}

const LIFETIMES = {
  integration: { identityExpires: 3600, refreshFrom: 900, refreshExpires: 86_400 },
  production: { identityExpires: 86_400, refreshFrom: 3600, refreshExpires: 2_592_000 },
} as const;

const kindOf = (value: unknown): string => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value);

const wrongType = (name: string, expected: string, got: unknown): never => {
  throw new TypeError(`${name}: expected ${expected}, got ${kindOf(got)}`);
};
const outOfRange = (name: string, expected: string, got: unknown): never => {
  throw new RangeError(`${name}: expected ${expected}, got ${got}`);
};

const oneOf = <T extends string>(name: string, value: unknown, allowed: readonly T[]): T => {
  if (typeof value !== 'string') wrongType(name, allowed.join(' or '), value);
  return allowed.includes(value as T) ? (value as T) : outOfRange(name, allowed.join(' or '), JSON.stringify(value));
};

const whole = (name: string, value: unknown, least: number, most: number): number => {
  if (typeof value !== 'number') return wrongType(name, 'number', value);
  if (!Number.isInteger(value) || value < least || value > most)
    outOfRange(name, `a whole number from ${least} to ${most}`, value);
  return value;
};

// A span of 1000 years keeps every instant a safe integer and a valid date.
const MOST_SECONDS = 31_557_600_000;
const spanMs = (name: string, value: unknown): number => {
  if (typeof value !== 'number') return wrongType(name, 'seconds as a number', value);
  if (!(value > 0 && value <= MOST_SECONDS)) outOfRange(name, 'seconds above 0', value);
  return Math.max(1, Math.round(value * 1000));
};

const bytes32 = (name: string, value: unknown): Bytes => {
  const expected = '32 bytes or their base64';
  if (value instanceof Uint8Array)
    return value.length === 32 ? Uint8Array.from(value) : outOfRange(name, expected, `${value.length} bytes`);
  if (typeof value !== 'string') return wrongType(name, expected, value);
  return parseHash(value) ?? outOfRange(name, expected, `other text of ${value.length} characters`);
};

// All that may be given, by name: a misspelt option would be a default in silence.
const CREDENTIALS = { apiKey: 0, clientSecret: 0, siteId: 0, roles: 0 } satisfies Record<keyof GivenCredentials, 0>;
const OPTIONS = {
  ...CREDENTIALS,
  now: 0,
  participants: 0,
  rootSecret: 0,
  environment: 0,
  scope: 0,
  identityExpires: 0,
  refreshFrom: 0,
  refreshExpires: 0,
  rotationPeriod: 0,
  rateLimit: 0,
  maxBatchSize: 0,
  keyGeneration: 0,
  database: 0,
  state: 0,
  logger: 0,
} satisfies Record<keyof OperatorOptions, 0>;

const knownNames = (where: string, given: object, known: object): void => {
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(known, name))
      throw new TypeError(`${where}${name}: expected one of ${Object.keys(known).join(', ')}, got another name`);
  }
};

// Credentials go unshown, also where they are wrong. What is left out is made later.
const credentials = (name: string, given: GivenCredentials): GivenCredentials => {
  knownNames(name, given, CREDENTIALS);
  const { apiKey, clientSecret, siteId, roles } = given;
  if (apiKey !== undefined && typeof apiKey !== 'string') wrongType(`${name}apiKey`, 'text', apiKey);
  if (apiKey !== undefined && !/^[\x21-\x7e]+$/.test(apiKey))
    outOfRange(`${name}apiKey`, 'visible ASCII characters', `other text of ${apiKey.length} characters`);
  if (clientSecret !== undefined) bytes32(`${name}clientSecret`, clientSecret);
  if (siteId !== undefined) whole(`${name}siteId`, siteId, 1, MAX_SITE_ID);
  if (roles !== undefined && !Array.isArray(roles)) wrongType(`${name}roles`, 'array of roles', roles);
  for (const role of roles ?? []) oneOf(`${name}roles`, role, ROLES);
  return given;
};

const databaseIn = ({ database, state }: OperatorOptions): string | undefined => {
  if (database === undefined) return undefined;
  if (typeof database !== 'string') wrongType('database', 'text', database);
  if (state !== undefined) outOfRange('database', 'none where state is given', 'both');
  locationKind(database);
  return database;
};

const participantsOf = (options: OperatorOptions): readonly GivenCredentials[] => {
  const { participants, apiKey, clientSecret, siteId, roles } = options;
  const shorthand = credentials('', { apiKey, clientSecret, siteId, roles });
  if (participants === undefined) return [shorthand];
  if (!Array.isArray(participants)) return wrongType('participants', 'array', participants);
  const listed = participants.map((one, at) =>
    kindOf(one) === 'object'
      ? credentials(`participants[${at}].`, one)
      : wrongType(`participants[${at}]`, 'object', one),
  );
  return apiKey === undefined ? listed : [...listed, shorthand];
};

/**
 * Check options and complete them.
 *
 * @throws {TypeError} an option of the wrong type or of an unknown name.
 * @throws {RangeError} an option out of its range, or lifetimes not in the order refreshFrom, identityExpires, refreshExpires.
 */
export function resolveOptions(options: OperatorOptions): Settings {
  if (kindOf(options) !== 'object') wrongType('options', 'object', options);
  knownNames('', options, OPTIONS);
  const { now = Date.now, logger, state } = options;
  if (typeof now !== 'function') wrongType('now', 'function', now);
  if (logger !== undefined && typeof logger?.info !== 'function') wrongType('logger', 'logger', logger);
  const environment = oneOf('environment', options.environment ?? 'integration', ['integration', 'production']);

  const lifetimes = { ...LIFETIMES[environment] };
  const span = (name: keyof typeof lifetimes): number => spanMs(name, options[name] ?? lifetimes[name]);
  const identityExpiresMs = span('identityExpires');
  const refreshFromMs = span('refreshFrom');
  const refreshExpiresMs = span('refreshExpires');
  if (refreshFromMs > identityExpiresMs)
    outOfRange('refreshFrom', `at most identityExpires (${identityExpiresMs / 1000})`, refreshFromMs / 1000);
  if (refreshExpiresMs < identityExpiresMs)
    outOfRange('refreshExpires', `at least identityExpires (${identityExpiresMs / 1000})`, refreshExpiresMs / 1000);

  const { rateLimit, rootSecret } = options;
  const database = databaseIn(options);
  return {
    now,
    participants: participantsOf(options),
    root:
      rootSecret !== undefined
        ? bytes32('rootSecret', rootSecret)
        : database === undefined
          ? crypto.getRandomValues(new Uint8Array(32))
          : undefined,
    environment,
    scope: oneOf('scope', options.scope ?? 'UID2', ['UID2', 'EUID']),
    identityExpiresMs,
    refreshFromMs,
    refreshExpiresMs,
    rotationPeriod: whole('rotationPeriod', options.rotationPeriod ?? 31_536_000, SHORTEST_PERIOD, LONGEST_PERIOD),
    rateLimit: rateLimit === undefined ? undefined : whole('rateLimit', rateLimit, 1, 1_000_000),
    maxBatchSize: whole('maxBatchSize', options.maxBatchSize ?? 5000, 1, 1_000_000),
    keyGeneration: whole('keyGeneration', options.keyGeneration ?? 1, 1, 127),
    database,
    state,
    logger,
  };
}
