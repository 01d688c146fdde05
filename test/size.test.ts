import { expect, test } from 'vitest';
import { buildScript } from '../build/bundle.ts';
import { brotliSize } from '../build/size.ts';

/** Bytes of brotli that the script tag may cost a page. Saved by design, never by leaving out a fault path. */
const LIMIT = 4_900;

test(`dist/tessera.js is at most ${LIMIT} bytes of brotli`, async () => {
  expect(brotliSize((await buildScript('tessera.js')).code)).toBeLessThanOrEqual(LIMIT);
});
