/**
 * The clients that are compared, and when each refreshes. It must not know how they are bundled: tables and charts read it too.
 */

export type PeerName = 'tessera' | 'prebid' | 'auth0' | 'oidc' | 'supabase' | 'incumbent';
export type FloorName = 'indexeddb' | 'localstorage';
export type PageName = PeerName | FloorName;

/** A client of a token service. */
export interface Peer {
  readonly name: PeerName;
  /** As charts and tables name it. */
  readonly label: string;
  /** Package of npm; Tessera is the one of this repository. */
  readonly npm?: string;
  /** The imports of its page, for the size; undefined: `scripts.ts` says what is measured. */
  readonly imports?: string;
  /**
   * Seconds before the end of its token from which on the client replaces it when it looks at it; 0: the service says when.
   * auth-js replaces it if fewer than four of its ticks of 30 s are left.
   */
  readonly marginS: number;
  /** `timer`: refreshes by itself. `call`: only when the page asks for the token. */
  readonly refreshes: 'timer' | 'call';
  /** The interval at which it looks at its token, s; 0: a timer for the instant itself, or none. */
  readonly tickS: number;
}

/** Only where TESSERA_INCUMBENT is the path of a copy of its script. */
export const incumbent: Peer = {
  name: 'incumbent',
  label: 'UID2 JavaScript SDK',
  marginS: 0,
  refreshes: 'timer',
  tickS: 5,
};

export const peers: readonly Peer[] = [
  { name: 'tessera', label: 'Tessera', marginS: 0, refreshes: 'timer', tickS: 0 },
  { name: 'prebid', label: 'Prebid, uid2 module', npm: 'prebid.js', marginS: 0, refreshes: 'call', tickS: 0 },
  {
    name: 'auth0',
    label: 'auth0-spa-js',
    npm: '@auth0/auth0-spa-js',
    imports: "export { createAuth0Client } from '@auth0/auth0-spa-js'",
    marginS: 60,
    refreshes: 'call',
    tickS: 0,
  },
  {
    name: 'oidc',
    label: 'oidc-client-ts',
    npm: 'oidc-client-ts',
    imports: "export { UserManager, WebStorageStateStore } from 'oidc-client-ts'",
    marginS: 60,
    refreshes: 'timer',
    tickS: 5,
  },
  {
    name: 'supabase',
    label: 'supabase auth-js',
    npm: '@supabase/auth-js',
    imports: "export { GoTrueClient } from '@supabase/auth-js'",
    marginS: 120,
    refreshes: 'timer',
    tickS: 30,
  },
];
