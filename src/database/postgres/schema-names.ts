/**
 * The schema of our tables, in every statement, because `search_path` is unreliable: behind a pooler in transaction mode, a
 * connection keeps what another client has set for its session, such as the empty path at the start of a dump.
 */

import { expectedGot, TokenError } from '../../token/errors.ts';
import type { Queries } from '../types.ts';

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

const STRINGS_AND_NAMES = /'(?:[^']|'')*'|(?<![\w.$"])tessera_\w+/g;
const NAME_IN_STRING = /^'(tessera_\w+)'$/;

/**
 * Every word that begins with `tessera_` is the name of a table, and so is a string that consists of one.
 *
 * @example qualified('SELECT number FROM tessera_keys', 'public') // 'SELECT number FROM "public".tessera_keys'
 * @example qualified("SELECT 'tessera_keys'::regclass", 'public') // `SELECT '"public".tessera_keys'::regclass`
 */
export function qualified(sql: string, schema: string): string {
  const prefix = `${quoted(schema)}.`;
  return sql.replace(STRINGS_AND_NAMES, (found) => {
    if (!found.startsWith("'")) return prefix + found;
    const name = NAME_IN_STRING.exec(found)?.[1];
    return name === undefined ? found : `'${prefix.replaceAll("'", "''")}${name}'`;
  });
}

/** Return the schema that a URL names (`?schema=name`); undefined if it names none. */
export function schemaOf(url: string): string | undefined {
  const [schema, ...more] = new URL(url).searchParams.getAll('schema');
  if (schema === '' || more.length > 0)
    throw new RangeError(expectedGot('database', 'one schema in the URL', schema === '' ? 'an empty name' : 'several'));
  return schema;
}

/** Until the end of a transaction. For scripts that create tables and indexes, some of whose names must not have a schema. */
export async function setSchema({ query }: Pick<Queries, 'query'>, schema: string): Promise<void> {
  await query("SELECT set_config('search_path', $1, true)", [quoted(schema)]);
}

/**
 * The schema that the URL names (`given`), or the first one in the path of the role or database that has our tables or would get
 * them. The `queries` are those of a transaction.
 *
 * @throws {TokenError} `storage_failed` if there is no such schema.
 */
export async function findSchema(queries: Queries, given: string | undefined): Promise<string> {
  if (given === undefined) await queries.script('SET LOCAL search_path TO DEFAULT');
  else await setSchema(queries, given);
  const [found] = await queries.query<{ used: string | null; first: string | null }>(
    `SELECT (SELECT nspname FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace
      WHERE pg_class.oid = to_regclass('tessera_migrations'))::text AS used, current_schema()::text AS first`,
  );
  const schema = found?.used ?? found?.first;
  if (schema) return schema;
  const expected = given === undefined ? 'the search_path of the role to name one' : 'the one that the URL names';
  throw new TokenError(
    'storage_failed',
    `database: ${expectedGot('schema', expected, 'none that exists')}; create it: CREATE SCHEMA name`,
  );
}
