/** What a page downloads: raw and brotli bytes of the script-tag files, and the hash for their `integrity` attribute. */

import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import { root } from './bundle.ts';
import { ensureDist } from './dist.ts';
import { scripts } from './entries.ts';

/** Bytes after brotli at its best (quality 11, what Node and the `brotli` command do unasked), as a CDN sends a static file. */
export const brotliSize = (code: string | Buffer): number => brotliCompressSync(code).length;

/** Subresource Integrity. */
const integrity = (code: Buffer): string => `sha384-${createHash('sha384').update(code).digest('base64')}`;

/** Print the version, and a line for each script-tag file. */
export const printSizes = async (): Promise<void> => {
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
  console.log(`tessera-id ${version}`);
  console.log(`${'file'.padEnd(18)}${'raw'.padStart(8)}${'brotli'.padStart(8)}  integrity`);
  for (const name of Object.keys(scripts)) {
    const code = await readFile(join(root, 'dist', name));
    const [raw, brotli] = [code.length, brotliSize(code)].map((bytes) => bytes.toLocaleString('en').padStart(8));
    console.log(`${name.padEnd(18)}${raw}${brotli}  ${integrity(code)}`);
  }
};

if (process.argv[1] === import.meta.filename) {
  await ensureDist();
  await printSizes();
}
