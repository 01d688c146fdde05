/** Roles of participants, and the credentials that carry them. */

/** Every role, in the order of the documentation. */
export const ROLES = ['GENERATOR', 'MAPPER', 'ID_READER', 'SHARER', 'OPTOUT'] as const;
/** What a participant may call: docs/operator.md lists the roles of each endpoint. */
export type Role = (typeof ROLES)[number];

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
