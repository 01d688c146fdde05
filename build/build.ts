/** `npm run build`: fill `dist/` and say how large the script-tag files are. */

import { buildDist } from './dist.ts';
import { printSizes } from './size.ts';

const start = performance.now();
await buildDist();
await printSizes();
console.log(`dist/ built in ${((performance.now() - start) / 1000).toFixed(1)} s`);
