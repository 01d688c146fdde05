/**
 * Converts the values of `pg` as `types.ts` specifies.
 *
 * The parsers of `pg` are global: other code in the process may replace them. So this file uses none of them. `bytea` may arrive in
 * both forms of `bytea_output`.
 */

type Parse = (text: string) => unknown;

const ESCAPE = /\\(\\|[0-7]{3})/g;

const parseBytes: Parse = (text) =>
  new Uint8Array(
    text.startsWith('\\x')
      ? Buffer.from(text.slice(2), 'hex')
      : Buffer.from(
          text.replace(ESCAPE, (_, escaped: string) =>
            escaped === '\\' ? escaped : String.fromCharCode(Number.parseInt(escaped, 8)),
          ),
          'latin1',
        ),
  );

/** An element in quotes, with backslashes before quotes and backslashes, or one without quotes. */
const ELEMENT = /"((?:[^"\\]|\\.)*)"|[^{},]+/gs;

function arrayOf(parse: Parse): Parse {
  return (text) =>
    Array.from(text.matchAll(ELEMENT), ([plain, quoted]) => {
      if (quoted !== undefined) return parse(quoted.replace(/\\(.)/gs, '$1'));
      return plain === 'NULL' ? null : parse(plain);
    });
}

const asText: Parse = (text) => text;

/** The parsers by the OID of the type in PostgreSQL. */
const PARSERS = new Map<number, Parse>([
  [16, (text) => text === 't'], // boolean
  [17, parseBytes], // bytea
  [20, Number], // bigint
  [23, Number], // integer
  [1009, arrayOf(asText)], // text[]
  [1016, arrayOf(Number)], // bigint[]
  [3802, JSON.parse], // jsonb
]);

/** Return the parser of a type. All types that `types.ts` does not list are strings. */
export function getTypeParser(type: number): Parse {
  return PARSERS.get(type) ?? asText;
}
