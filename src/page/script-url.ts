/**
 * Where the running script tag's file came from. Read while the file runs for the first time: `currentScript` is
 * null in everything that is called later.
 */

/** The tag itself; null where the file was not loaded by a classic script tag. */
export const scriptTag = globalThis.document?.currentScript as HTMLScriptElement | null | undefined;
