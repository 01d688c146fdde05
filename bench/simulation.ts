/**
 * `npm run simulate [-- DAYS SEED...]`: simulate a month of a browser profile in virtual time, for each seed. Prints the figures
 * that docs/guarantees.md sums up, and exits with 1 after any violation of an invariant or of a limit.
 */

import { failuresOf, runLong, tableOf } from './support/month.ts';

const [days = 30, ...seeds] = process.argv.slice(2).map(Number);
const reports = [];
for (const seed of seeds.length ? seeds : [1, 2, 3]) reports.push(await runLong({ days, seed }));
console.log(tableOf(reports));
for (const report of reports)
  for (const failure of failuresOf(report)) {
    process.exitCode = 1;
    console.error(`seed ${report.seed}: ${failure}`);
  }
