/**
 * A process that opens a folder: prints `open`, then the number of each acknowledged row until it is killed. Prints the message
 * of the error and exits with 1 if it cannot open the folder.
 */

import { openDatabase } from '../../src/database/database.ts';

const [folder] = process.argv.slice(2);
try {
  const database = await openDatabase(folder!);
  await database.script('CREATE TABLE IF NOT EXISTS rows (id integer PRIMARY KEY, filling text)');
  console.log('open');
  const [last] = await database.query<{ id: number }>('SELECT coalesce(max(id), 0) AS id FROM rows');
  for (let id = last!.id + 1; ; id++) {
    await database.query('INSERT INTO rows VALUES ($1, $2)', [id, 'x'.repeat(500)]);
    console.log(id);
  }
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
