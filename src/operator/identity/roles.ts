/** Roles, and the credentials that carry them. */

/** What a participant may do. */
export const ROLES = ['GENERATOR', 'MAPPER', 'ID_READER', 'SHARER', 'OPTOUT'] as const;
export type Role = (typeof ROLES)[number];

/** What a participant holds. */
export interface Credentials {
  /** Presented as bearer token; secret. */
  readonly apiKey: string;
  /** Base64 of 32 bytes; secret. */
  readonly clientSecret: string;
  readonly siteId: number;
  readonly roles: readonly Role[];
}

/** Credentials that may be completed: what is missing is made. */
export type GivenCredentials = { readonly [K in keyof Credentials]?: Credentials[K] | undefined };
