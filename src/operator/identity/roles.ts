/** Roles of participants, and the credentials that carry them. */

/** Every role, in the order of the documentation. */
export const ROLES = ['GENERATOR', 'MAPPER', 'ID_READER', 'SHARER', 'OPTOUT'] as const;
/** What a participant may call: docs/operator.md lists the roles of each endpoint. */
export type Role = (typeof ROLES)[number];

/** The roles of a participant for which none are named. The others read keys or end a user's tokens: they must be asked for. */
export const DEFAULT_ROLES = ['GENERATOR', 'MAPPER'] as const satisfies readonly Role[];

/** The site of a participant for which none is named. */
export const DEFAULT_SITE_ID = 101;

/** Credentials of a participant. */
export interface Credentials {
  /** Sent as bearer token. Secret. */
  readonly apiKey: string;
  /** Base64 of 32 bytes. Secret. */
  readonly clientSecret: string;
  readonly siteId: number;
  readonly roles: readonly Role[];
}

/** Credentials in options: the operator derives what is left out from its root secret. */
export type GivenCredentials = { readonly [K in keyof Credentials]?: Credentials[K] | undefined };
