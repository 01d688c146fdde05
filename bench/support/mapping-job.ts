/** A program: map a number of rows from a source that creates them on demand, and report the memory used. */

import { median } from '../measure.ts';
import { builtServer } from './built.ts';
import { report } from './child.ts';

const [rows, options] = [Number(process.argv[2]), JSON.parse(process.argv[3]!)];
const { createClient } = await builtServer();

function* source(): Generator<{ emailHash: string }> {
  const bytes = Buffer.alloc(32);
  for (let row = 0; row < rows; row++) {
    bytes.writeUInt32BE(row);
    yield { emailHash: bytes.toString('base64') };
  }
}

let mapped = 0;
const alive: number[] = [];
for await (const { status } of createClient(options).mapIdentities(source())) {
  if (status === 'mapped') mapped++;
  // Collect garbage first, to count live memory only; at intervals, while batches are in flight.
  if (mapped % 17_500 === 0) {
    globalThis.gc!();
    const { heapUsed, external } = process.memoryUsage();
    alive.push(heapUsed + external);
  }
}
if (mapped !== rows) throw new Error(`expected ${rows} mapped rows, got ${mapped}`);
// maxRSS is in kilobytes.
report({ alive: median(alive), resident: process.resourceUsage().maxRSS * 1024 });
