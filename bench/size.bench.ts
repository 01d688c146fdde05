/** What a page downloads: the script-tag files of `dist/`, raw and compressed as a CDN sends static files. */

import { readFile } from 'node:fs/promises';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { root } from '../build/dist.ts';
import { scripts } from '../build/entries.ts';
import manifest from '../package.json' with { type: 'json' };
import { figure, type Measurement } from './measure.ts';

/** The limit in package.json, which is in kB. The development build has none. */
const limitOf = (name: string): Pick<Measurement, 'limit'> => {
  const check = manifest['size-limit'].find((one) => one.name === `dist/${name}`);
  return check ? { limit: { atMost: Math.round(Number.parseFloat(check.limit) * 1000) } } : {};
};

export const measure = async (): Promise<Measurement[]> =>
  Promise.all(
    Object.keys(scripts).map(async (name) => {
      const code = await readFile(`${root}dist/${name}`);
      return {
        what: `size of ${name}, brotli`,
        value: brotliCompressSync(code).length,
        unit: 'bytes',
        ...limitOf(name),
        beside: `gzip ${figure(gzipSync(code, { level: 9 }).length)}, raw ${figure(code.length)}`,
      };
    }),
  );
