/**
 * The schema of our tables, found once at the start, and its name in every statement.
 *
 * A statement must not rely on `search_path`: behind a pooler in transaction mode, a connection keeps what another client has set for its
 * session, such as the empty path at the start of a dump.
 */

import { expectedGot, TokenError } from '../token/errors.ts';
import type { Queries } from './types.ts';

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

const STRINGS_AND_NAMES = /'(?:[^']|'')*'|(?<![\w.$"])tessera_\w+/g;
const NAME_IN_STRING = /^'(tessera_\w+)'$/;

/**
 * Add the schema to the names of tables in a statement. Every word that begins with `tessera_` is such a name, and so is a string that
 * consists of one.
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

/**
 * Use one schema for all statements of a transaction, until its end. For scripts that create tables and indexes, some of whose names
 * must not have a schema.
 */
export async function setSchema({ query }: Pick<Queries, 'query'>, schema: string): Promise<void> {
  await query("SELECT set_config('search_path', $1, true)", [quoted(schema)]);
}

/**
 * Find the schema of our tables: the first one in the path that has them, otherwise the one in which PostgreSQL would create them. The
 * path is that of the role or the database, whatever other clients have set for the session.
 *
 * @param queries  those of a transaction.
 * @param given    the schema that the URL names.
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
