/**
 * `npm run mutation [-- OPTIONS]`: runs Stryker with these options, and writes the scores into test/mutation.md. With options,
 * which may select a part, it writes nothing.
 */

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const options = process.argv.slice(2);
const stryker = fileURLToPath(new URL('node_modules/@stryker-mutator/core/bin/stryker.js', import.meta.url));

const { status } = spawnSync(process.execPath, [stryker, 'run', ...options], { stdio: 'inherit' });
process.exitCode = status ?? 1;
if (status === 0 && options.length === 0) await import('../../test/support/mutation-report.ts');
