/** What a page downloads: the script-tag files of `dist/`, raw and compressed as a CDN sends static files. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { root } from '../build/bundle.ts';
import { scripts } from '../build/entries.ts';
import { brotliSize } from '../build/size.ts';
import { figure, type Measurement } from './measure.ts';

/** Bytes of brotli: what is aimed at. `test/size.test.ts` holds what is reached. */
const LIMITS: Record<string, number> = { 'tessera.js': 6_000, 'tessera-uid2.js': 7_500 };

export const measure = async (): Promise<Measurement[]> =>
  Promise.all(
    Object.keys(scripts).map(async (name) => {
      const code = await readFile(join(root, 'dist', name));
      const limit = LIMITS[name];
      return {
        what: `size of ${name}, brotli`,
        value: brotliSize(code),
        unit: 'bytes',
        ...(limit === undefined ? {} : { limit: { atMost: limit } }),
        beside: `gzip ${figure(gzipSync(code, { level: 9 }).length)}, raw ${figure(code.length)}`,
      };
    }),
  );
