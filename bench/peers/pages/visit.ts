/** What every page of the comparison does: sign in if the address says so, obtain the token, and note when it is readable. */

/** One client of a token service on a page. */
export interface PagePeer {
  /** Sign a user in, until the tokens are stored. */
  signIn?(): Promise<unknown>;
  /** Obtain the access token as a return visit does. */
  open(): Promise<string | undefined>;
  /** Ask for the token again, as before an ad request or a call of an API. */
  ask(): Promise<string | undefined>;
  /** Refresh now, whether due or not, until the new token is readable. */
  refresh?(): Promise<unknown>;
  /** Sign the user out. Missing if the client has no call for it. */
  signOut?(): Promise<unknown>;
}

/** What the bench reads in the page. */
export interface Visited {
  /** `performance.now()` when the token was readable; 0 before. */
  readonly doneAt: number;
  readonly failure?: string;
  readonly peer: PagePeer;
}

/** Parameters of the page's address. */
export interface Parameters {
  /** Origin of the authority with the path of the run: an issuer. */
  readonly issuer: string;
  /** Origin of the UID2 operator. */
  readonly operator: string;
}

/** The parameters, in `sessionStorage` too: an address that a redirect has brought has lost them. */
export function parameters(): Parameters {
  const query = new URLSearchParams(location.search);
  if (query.has('issuer')) sessionStorage.setItem('parameters', location.search);
  const kept = new URLSearchParams(sessionStorage.getItem('parameters') ?? '');
  return { issuer: kept.get('issuer') ?? '', operator: kept.get('operator') ?? '' };
}

/** Whether this visit shall sign in. */
export const isSignIn = (): boolean => new URLSearchParams(location.search).has('sign-in');

/** Note that the token is readable. */
export function done(token: string | undefined): void {
  if (!token) return;
  performance.mark('token');
  Object.assign(globalThis, { doneAt: performance.now() });
}

/** Run the visit of a page. */
export function visit(peer: PagePeer): void {
  Object.assign(globalThis, { peer, doneAt: 0 });
  (async () => {
    if (isSignIn()) await peer.signIn?.();
    done(await peer.open());
  })().catch((error: unknown) => Object.assign(globalThis, { failure: String(error) }));
}
