/**
 * `tessera-id/global`: the type of `window.tessera`, which the script tag assigns. Types only; importing it runs nothing.
 *
 * ```ts
 * import 'tessera-id/global';
 * (window.tessera = window.tessera || []).push((t) => t.session?.on('token', showAds));
 * ```
 */

import type { isTokenError, Session, SessionOptions } from '../session/index.ts';

/** Waits for the script to load, and is called at once after that. */
export type TesseraCall = (tessera: Tessera) => unknown;

/** The global `tessera`, once the script has loaded. */
export interface Tessera {
  readonly version: string;
  /** The first session of this page, once one exists: at once if the tag has `data-base-url`. */
  session?: Session | undefined;
  /** Create a session; the first one becomes `session`. */
  createSession(options: SessionOptions): Session;
  isTokenError: typeof isTokenError;
  /** Make calls at once. Before the script has loaded, `push` of the array queues them. */
  push(...calls: TesseraCall[]): void;
}

/** The global `tessera` before the script has loaded: an array of calls, which has only `push` of the members of {@link Tessera}. */
export interface TesseraQueue extends Array<TesseraCall> {
  readonly version?: undefined;
  readonly session?: undefined;
  readonly createSession?: undefined;
  readonly isTokenError?: undefined;
}

declare global {
  interface Window {
    /** Assigned by the script tag, or earlier by a page that queues calls. */
    tessera?: Tessera | TesseraQueue;
  }
}
