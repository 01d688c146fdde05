/**
 * Runs the operators of `test/operator` on a database: each test service is a node with its own tables in its own schema of one
 * database.
 */

import { afterAll, beforeAll } from 'vitest';
import { openDatabase } from '../../src/database/database.ts';
import type { Database, Queries } from '../../src/database/index.ts';
import { qualified, setSchema } from '../../src/database/postgres/schema-names.ts';
import { operatorFrom } from '../../src/operator/operator.ts';
import { resolveOptions } from '../../src/operator/options/resolve.ts';
import { freshLocation, type Kind } from '../database/locations.ts';
import { BASE, operatorRunner } from '../operator/fixtures.ts';

/** Create a schema, and a view of the database in which every statement runs in that schema. */
const inSchema = async (whole: Database, schema: string): Promise<Database> => {
  await whole.script(`CREATE SCHEMA ${schema}`);
  const within = ({ query, script }: Queries): Queries => ({
    query: (sql, params) => query(qualified(sql, schema), params),
    script: (sql) => script(qualified(sql, schema)),
  });
  return {
    kind: whole.kind,
    ...within(whole),
    transaction: (work, options) =>
      whole.transaction(async (queries) => {
        if (!options?.isMigration) return work(within(queries));
        await setSchema(queries, schema);
        return work(queries);
      }, options),
    close: async () => {},
  };
};

/** Run the operators of this test file on one kind of database. */
export const runOperatorsOn = (kind: Kind): void => {
  const runInMemory = operatorRunner.run;
  let schemas = 0;
  let database: Database;

  beforeAll(async () => {
    database = await openDatabase(await freshLocation(kind));
    operatorRunner.run = (options) => {
      // A test that brings its own state tests that state.
      if (options.state) return runInMemory(options);
      const schema = `operator_${schemas++}`;
      const settings = resolveOptions({ ...options, database: 'ignored' });
      const operator = operatorFrom(settings, () => inSchema(database, schema));
      return { operator, fetch: (path, init) => operator.fetch(new Request(BASE + path, init)) };
    };
  });
  afterAll(async () => database.close());
};
