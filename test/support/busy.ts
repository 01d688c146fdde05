/**
 * `npm run test:busy`: runs all tests while other processes keep the processor busy, because no test may depend on an idle
 * machine.
 *
 * Arguments are passed to vitest. TESSERA_BUSY is the number of busy processes; the default is 2.
 */

import { spawn } from 'node:child_process';

const count = Number(process.env['TESSERA_BUSY'] ?? 2);
const loops = Array.from({ length: count }, () => spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }));
const stop = () => {
  for (const loop of loops) loop.kill();
};
process.once('exit', stop);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const tests = spawn('npx', ['vitest', 'run', ...process.argv.slice(2)], { stdio: 'inherit' });
tests.once('exit', (code) => process.exit(code ?? 1));
