/**
 * Replaces `build/dist.ts` in the demo that the package contains: its `dist/` is there already.
 */

/** The directory of package.json, with a final slash. From `dist/demo/`. */
export const root = decodeURIComponent(new URL('../../', import.meta.url).pathname);

/** Do nothing. */
export async function ensureDist(): Promise<void> {}
