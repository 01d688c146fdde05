/**
 * Replaces `build/dist.ts` in the packaged demo, whose `dist/` already exists.
 */

/** The directory of package.json, with a trailing slash. Relative to `dist/demo/`. */
export const root = decodeURIComponent(new URL('../../', import.meta.url).pathname);

/** Do nothing. */
export async function ensureDist(): Promise<void> {}
