/** Roles of participants, and the credentials to which they belong. */

export const ROLES = ['GENERATOR', 'MAPPER', 'ID_READER', 'SHARER', 'OPTOUT'] as const;
/** What a participant may call. docs/protocol.md lists the roles of each endpoint. */
export type Role = (typeof ROLES)[number];

/** If the options specify none. All others read keys or end a user's tokens, so they must be specified. */
export const DEFAULT_ROLES = ['GENERATOR', 'MAPPER'] as const satisfies readonly Role[];

export const DEFAULT_SITE_ID = 101;

/** Credentials of a participant. */
export interface Credentials {
  /** Sent as a bearer token. Secret. */
  readonly apiKey: string;
  /** Base64 of 32 bytes. Secret. */
  readonly clientSecret: string;
  readonly siteId: number;
  readonly roles: readonly Role[];
}

/** Credentials in options. The operator derives missing ones from its root secret. */
export type GivenCredentials = { readonly [K in keyof Credentials]?: Credentials[K] | undefined };
