/**
 * `npm run simulate [-- DAYS SEED...]`: a month in the life of a browser profile, in virtual time, for each seed. Prints
 * the table that the README carries, and closes with 1 where anything was not as it must be.
 */

import { runLong, tableOf } from '../test/model/long-run.ts';

const [days = 30, ...seeds] = process.argv.slice(2).map(Number);
const balances = [];
for (const seed of seeds.length ? seeds : [1, 2, 3]) balances.push(await runLong({ days, seed }));
console.log(tableOf(balances));
for (const { seed, faults } of balances)
  for (const fault of faults) {
    process.exitCode = 1;
    console.error(`seed ${seed}: ${fault}`);
  }
