/**
 * Converts the values of `pg` as `types.ts` specifies, without its parsers, which are global: other code may replace them.
 * `bytea` may arrive in both forms of `bytea_output`.
 */

type Parse = (text: string) => unknown;

const ESCAPE = /\\(\\|[0-7]{3})/g;

const parseBytes: Parse = (text) => {
  if (text.startsWith('\\x')) return new Uint8Array(Buffer.from(text.slice(2), 'hex'));
  const unescaped = text.replace(ESCAPE, (_, escaped: string) =>
    escaped === '\\' ? escaped : String.fromCharCode(Number.parseInt(escaped, 8)),
  );
  return new Uint8Array(Buffer.from(unescaped, 'latin1'));
};

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

const PARSERS = new Map<number, Parse>([
  [16, (text) => text === 't'], // boolean
  [17, parseBytes], // bytea
  [20, Number], // bigint
  [23, Number], // integer
  [1009, arrayOf(asText)], // text[]
  [1016, arrayOf(Number)], // bigint[]
  [3802, JSON.parse], // jsonb
]);

export function getTypeParser(type: number): Parse {
  return PARSERS.get(type) ?? asText;
}
