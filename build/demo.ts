/**
 * Replaces `build/dist.ts` and `build/packages.ts` in the packaged demo, whose `dist/` already exists, and which has no packages of
 * its own.
 */

/** The directory of package.json, with a trailing slash. Relative to `dist/demo/`. */
export const root = decodeURIComponent(new URL('../../', import.meta.url).pathname);

/** Do nothing. */
export async function ensureDist(): Promise<void> {}
export async function install(): Promise<void> {}
