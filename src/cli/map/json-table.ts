/** Reads JSON lines for `tessera map --out --jsonl`: one object per line, whose text is kept as it is. */

import { parseTree } from 'jsonc-parser';
import { kindOf } from '../../token/checks.ts';
import { type DiiType, diiTypeOf } from '../../token/index.ts';
import { type DiiRowOptions, isUnknownHash, parseDii, typeNamed } from '../input/dii-rows.ts';
import { type Input, MAX_CHARACTERS } from '../input/input.ts';
import { ADDED, replacedNames, rowOf, type Table, type TableRow } from './answered-rows.ts';

/** The non-empty lines, without white space around them; one array for each piece of text. */
async function* linesOf({ pieces, name }: Input): AsyncGenerator<readonly { line: number; text: string }[]> {
  let rest = '';
  let line = 0;
  const take = (texts: readonly string[]) => {
    const some: { line: number; text: string }[] = [];
    for (const one of texts) {
      line++;
      const text = one.trim();
      if (text.length > MAX_CHARACTERS)
        throw new RangeError(`${name}: expected lines of at most ${MAX_CHARACTERS} characters, got a longer one`);
      if (text) some.push({ line, text });
    }
    return some;
  };
  for await (const piece of pieces) {
    const texts = (rest + piece).split('\n');
    rest = texts.pop()!;
    // Not while the line may still end: its length is checked then.
    if (rest.length > MAX_CHARACTERS) take([rest]);
    if (texts.length > 0) yield take(texts);
  }
  yield take([rest]);
}

/** The members of an object by name; undefined for text that is no object. */
function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const found: unknown = JSON.parse(text);
    return text.startsWith('{') ? (found as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** Without the members that are replaced. The text of others is kept, because numbers may have more digits than JSON.parse. */
function withoutMembers(text: string, replaced: ReadonlySet<string>): string {
  const members = parseTree(text)?.children ?? [];
  const kept = members.filter(({ children }) => !replaced.has(children![0]!.value));
  return `{${kept.map(({ offset, length }) => text.slice(offset, offset + length)).join(',')}}`;
}

function startOf(text: string): string {
  const open = text.slice(0, -1).trimEnd();
  return open === '{' ? open : `${open},`;
}

const NO_MEMBER = 'expected a member with DII, got none';

/** Start reading. The rows throw a {@link RangeError} for wrong use: two members with DII, or a hash of unknown type. */
export function openJsonTable(input: Input, options: DiiRowOptions, version: 2 | 3): Table {
  const { column, type: given } = options;
  const types = new Map<string, DiiType | undefined>();
  const typeOf = (name: string): DiiType | undefined => {
    // Objects with ever new names must not fill the memory.
    if (types.size > 1000) types.clear();
    if (!types.has(name)) types.set(name, typeNamed(name));
    return types.get(name);
  };
  let count = 0;
  let withMember = 0;

  const memberOf = (object: Readonly<Record<string, unknown>>, line: number): string | undefined => {
    if (column !== undefined) return Object.hasOwn(object, column) ? column : undefined;
    const known = Object.keys(object).filter((name) => {
      const type = typeOf(name);
      return type && (!given || type === diiTypeOf(given));
    });
    const filled = known.filter((name) => object[name] !== null && object[name] !== '');
    if (filled.length > 1)
      throw new RangeError(`line ${line}: expected one member with DII, got ${filled.join(' and ')}; give --column`);
    return filled[0] ?? known[0];
  };
  const read = ({ line, text }: { line: number; text: string }): TableRow => {
    count++;
    const object = parseObject(text);
    if (!object) return rowOf(`{"input":${JSON.stringify(text)},`, 'expected a JSON object, got other text');
    const replaced = replacedNames(Object.keys(object), `line ${line}`);
    const start = startOf(replaced.size > 0 ? withoutMembers(text, replaced) : text);
    const name = memberOf(object, line);
    if (name === undefined) return rowOf(start, NO_MEMBER);
    withMember++;
    const value = object[name] ?? '';
    if (typeof value !== 'string') return rowOf(start, `expected a string with DII, got ${kindOf(value)}`);
    const dii = parseDii(value.trim(), given, typeOf(name), /hash|sha256/i.test(name));
    if (isUnknownHash(dii)) throw new RangeError(`line ${line}: ${dii}`);
    return rowOf(start, dii);
  };
  async function* rows(): AsyncGenerator<readonly TableRow[], void, undefined> {
    for await (const some of linesOf(input)) yield some.map(read);
  }
  const members = ADDED[version].map((name) => `"${name}":`);
  const isEnd = new RegExp(`^${members.map((member) => `${member}(?:null|"(?:[^"\\\\]|\\\\.)*")`).join(',')}\\}$`);
  return {
    header: undefined,
    rows: rows(),
    endOf: (values) => `${members.map((member, at) => member + JSON.stringify(values[at])).join(',')}}\n`,
    isEnd: (text) => isEnd.test(text),
    faultOfAll: () =>
      count > 0 && withMember === 0
        ? new RangeError(`${input.name}: ${NO_MEMBER} in any of ${count} rows; give --column with its name`)
        : undefined,
  };
}
