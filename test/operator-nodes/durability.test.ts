import { afterEach, expect, test } from 'vitest';
import { openDatabase } from '../../src/database/database.ts';
import type { Database } from '../../src/database/index.ts';
import { createOperator, openAdministration } from '../../src/operator/index.ts';
import { freshLocation } from '../database/locations.ts';
import { ALL_ROLES, createCalls, DAY, ROOT } from '../operator/fixtures.ts';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

/** Record the setting that is in force in each transaction that writes to a table. */
const watch = async (place: string, tables: readonly string[]): Promise<Database> => {
  const database = await openDatabase(place, { connections: 1 });
  open.push(database);
  await database.script(`CREATE TABLE seen (name text, setting text);
    CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO seen VALUES (TG_TABLE_NAME, current_setting('synchronous_commit'));
      RETURN NULL;
    END $$;`);
  for (const table of tables)
    await database.script(
      `CREATE TRIGGER see AFTER INSERT OR UPDATE ON ${table} FOR EACH STATEMENT EXECUTE FUNCTION see()`,
    );
  return database;
};

test.each([
  ['off', 'on'],
  ['local', 'on'],
  ['on', 'on'],
  // It promises more than `on`.
  ['remote_apply', 'remote_apply'],
])('with synchronous_commit = %s, what an operator acknowledges is committed with %s', async (standard, inForce) => {
  const place = await freshLocation('postgres');
  const name = new URL(place).pathname.slice(1);
  const admin = await openDatabase(place, { connections: 1 });
  await admin.script(`ALTER DATABASE ${name} SET synchronous_commit = ${standard}`);
  await admin.close();
  const options = { database: place, rootSecret: ROOT, roles: ALL_ROLES };
  const first = createOperator(options);
  await first.ready;
  await first.close();

  const tables = ['tessera_operator', 'tessera_opt_outs', 'tessera_raw_ids', 'tessera_participants', 'tessera_keys'];
  const database = await watch(place, tables);
  // So the next start writes what the first one did.
  await database.script('DELETE FROM tessera_operator; DELETE FROM tessera_participants; DELETE FROM tessera_keys');
  expect(await database.query('SHOW synchronous_commit')).toEqual([{ synchronous_commit: standard }]);
  const operator = createOperator(options);
  open.push(operator);
  await operator.ready;
  const { call } = createCalls(
    (path, init) => operator.fetch(new Request(`http://node.test${path}`, init)),
    operator.participants[0]!,
    Date.now,
  );
  expect((await call('/v2/token/logout', { email: 'leaver@example.com' })).http).toBe(200);
  const { keys, participants, close } = await openAdministration({ database: place, rootSecret: ROOT });
  open.push({ close });
  await keys.rotate(DAY);
  const { keyHash } = await participants.add({});
  await participants.update(keyHash, { newSecret: true });
  await participants.revoke([keyHash]);
  expect(await database.query('SELECT DISTINCT name, setting FROM seen ORDER BY name')).toEqual(
    tables.toSorted().map((table) => ({ name: table, setting: inForce })),
  );
});
