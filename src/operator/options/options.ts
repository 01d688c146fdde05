/** The options of an operator, for its users and, with their defaults, for its parts. */

import type { Bytes } from '../../token/bytes.ts';
import type { Environment, Scope } from '../crypto/secrets.ts';
import type { Logger } from '../ports/logger.ts';
import type { GivenCredentials } from '../ports/roles.ts';
import type { State } from '../ports/state.ts';

/** Options of `createOperator`. Durations are s. `apiKey`, `clientSecret`, `siteId`, `roles`: a shorthand for one participant. */
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
  /** Requests per second for each participant, at the mapping and bucket endpoints of this node. Default: no limit. */
  readonly rateLimit?: number | undefined;
  /** Refreshes and rejected requests per second and client address, if `Operator.fetch` gets it. Default: no limit. */
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

export interface ConfiguredCredentials extends GivenCredentials {
  /** If it is already stored, the stored one is kept. */
  readonly keepStored?: boolean;
}

/** Options that stay undefined unless they are given. No member is optional, so that `resolve.ts` compiles only with all of them. */
type GivenOptions = {
  readonly [Name in
    | 'rateLimit'
    | 'anonymousRateLimit'
    | 'keyGeneration'
    | 'database'
    | 'state'
    | 'logger']: OperatorOptions[Name];
};

export interface OperatorSettings extends SettingsInForce, GivenOptions {
  readonly now: () => number;
  readonly participants: readonly ConfiguredCredentials[];
  /** Undefined if the database stores it. */
  readonly root: Bytes | undefined;
  /** The warning about how the root secret is kept; undefined if there is none. */
  readonly rootWarning: string | undefined;
  readonly publicMetrics: boolean;
  readonly maxBatchSize: number;
  /** Undefined if the keys are not rotated on a schedule. */
  readonly keyRotationMs: number | undefined;
  /** Site ID of the owner of tokens -> site IDs that may decrypt them. */
  readonly sharing: ReadonlyMap<number, ReadonlySet<number>>;
}
