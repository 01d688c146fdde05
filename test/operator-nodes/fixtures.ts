/**
 * Sets the scenes of `test/operator` on a database and behind a port: every createFixture is a node that listens, with tables of
 * its own in a schema of one database for the whole test file.
 */

import { afterAll, beforeAll } from 'vitest';
import type { Database, Queries } from '../../src/database/index.ts';
import { openDatabase } from '../../src/database/index.ts';
import type { Listening } from '../../src/operator/node.ts';
import { listen } from '../../src/operator/node.ts';
import { operatorOf } from '../../src/operator/operator.ts';
import { resolveOptions } from '../../src/operator/options.ts';
import { freshPlace, type Kind } from '../database/places.ts';
import { operatorHost } from '../operator/fixtures.ts';

/** A database within a database: all it does, it does in one schema. */
const inSchema = async (whole: Database, schema: string): Promise<Database> => {
  await whole.script(`CREATE SCHEMA ${schema}`);
  const transaction: Database['transaction'] = (work) =>
    whole.transaction(async (queries: Queries) => {
      await queries.script(`SET LOCAL search_path TO ${schema}`);
      return work(queries);
    });
  return {
    kind: whole.kind,
    query: (sql, params) => transaction(({ query }) => query(sql, params)),
    script: (sql) => transaction(({ script }) => script(sql)),
    transaction,
    close: async () => {},
  };
};

/** Set all scenes of this test file on one kind of database. */
export const hostOperatorsOn = (kind: Kind): void => {
  const inMemory = operatorHost.create;
  const listening: Promise<Listening>[] = [];
  let whole: Database;

  beforeAll(async () => {
    whole = await openDatabase(await freshPlace(kind));
    operatorHost.create = (options) => {
      // A store of its own is what such a createFixture is about.
      if (options.state) return inMemory(options);
      const name = `scene_${listening.length}`;
      const operator = operatorOf(resolveOptions({ ...options, database: 'staged' }), () => inSchema(whole, name));
      const node = operator.ready.then(() => listen(operator, { port: 0 }));
      listening.push(node);
      return { operator, fetch: async (path, init) => fetch(`${(await node).url}${path}`, init) };
    };
  });
  afterAll(async () => {
    await Promise.all(listening.map(async (node) => (await node).close()));
    await whole.close();
  });
};
