/**
 * `npm run simulate [-- DAYS SEED...]`: simulate a month of a browser profile in virtual time, for each seed. Prints the figures
 * that docs/guarantees.md sums up, and exits with 1 after any fault.
 */

import { runLong, tableOf } from '../test/model/long-run.ts';

const [days = 30, ...seeds] = process.argv.slice(2).map(Number);
const reports = [];
for (const seed of seeds.length ? seeds : [1, 2, 3]) reports.push(await runLong({ days, seed }));
console.log(tableOf(reports));
for (const { seed, faults } of reports)
  for (const fault of faults) {
    process.exitCode = 1;
    console.error(`seed ${seed}: ${fault}`);
  }
