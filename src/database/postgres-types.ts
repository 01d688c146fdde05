/** The values of `pg`: converts them as `types.ts` specifies. */

import type { PgPackage } from './packages.ts';

// OIDs of types in PostgreSQL.
const INT8 = 20;
const INT8_ARRAY = 1016;
const BYTEA = 17;
const BYTEA_ARRAY = 1001;

type PgTypes = PgPackage['types'];
type GetTypeParser = PgTypes['getTypeParser'];

const plainBytes = (bytes: Uint8Array): Uint8Array => new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/**
 * Create the function that returns the parser of a type: ours if `pg` does not convert as `types.ts` specifies, otherwise the one
 * of `pg`.
 */
export function createTypeParser(types: PgTypes): GetTypeParser {
  const parserOf = (type: number, format?: 'text') =>
    types.getTypeParser(type as Parameters<GetTypeParser>[0], format) as unknown;
  const parseBytes = parserOf(BYTEA) as (text: string) => Uint8Array;
  const parseArray = parserOf(INT8_ARRAY) as (text: string) => (string | null)[];
  const parseByteArray = parserOf(BYTEA_ARRAY) as (text: string) => (Uint8Array | null)[];
  const parsers = new Map<number, (text: string) => unknown>([
    [INT8, Number],
    [INT8_ARRAY, (text) => parseArray(text).map((item) => (item === null ? null : Number(item)))],
    [BYTEA, (text) => plainBytes(parseBytes(text))],
    [BYTEA_ARRAY, (text) => parseByteArray(text).map((item) => item && plainBytes(item))],
  ]);
  return ((type: number, format?: 'text') => parsers.get(type) ?? parserOf(type, format)) as GetTypeParser;
}
