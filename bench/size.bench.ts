/** What a page downloads: the script-tag files of `dist/`, raw and compressed as a CDN sends static files. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { root } from '../build/bundle.ts';
import { scripts } from '../build/entries.ts';
import { brotliSize } from '../build/size.ts';
import { figure, type Measurement } from './measure.ts';

/** Bytes of brotli. `test/size.test.ts` guards the same. */
const LIMITS: Record<string, number> = { 'tessera.js': 4_900 };

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
