/**
 * Hostile inputs: any JSON, damaged bytes, and valid structures with some of their members replaced, removed or added.
 *
 * Everything follows from the seed of fast-check, so a failure can be repeated.
 */

import fc from 'fast-check';

/** Strings that parsers, terminals, SQL and JSON treat in a way of their own. */
const STRINGS = [
  '',
  ' ',
  '\0',
  '\u001b[2J',
  '\u202e',
  '\ud800',
  '\ufeff',
  '__proto__',
  'constructor',
  'toString',
  "';--",
  '%00',
  'null',
  'NaN',
  '1e400',
  '9'.repeat(400),
  'x'.repeat(5000),
  'success',
  'optout',
  'user@example.com',
  'optout@example.com',
  '+12345678901',
  'A'.repeat(44),
  `${'A'.repeat(43)}=`,
  '2026-02-30T00:00:00',
  '2026-06-01T00:00:00',
];
const NUMBERS = [0, -0, -1, 1, 0.5, 2 ** 31, 2 ** 53, -(2 ** 53), 1e21, 1e300, 8.64e15, 8.64e15 + 1];

export const json: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(null, true, false, [], {}, [[]], [null], { length: 5 }),
  fc.constantFrom(...STRINGS),
  fc.constantFrom(...NUMBERS),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.double(),
  fc.jsonValue({ maxDepth: 3 }),
);

/** A value that a script of the page can pass, or a store can return: JSON, and what JSON cannot carry. */
export const anything: fc.Arbitrary<unknown> = fc.oneof(
  json,
  fc.constantFrom<unknown>(undefined, Number.NaN, Number.POSITIVE_INFINITY, 5n, new Date(0), /x/, new Uint8Array(3)),
  fc.anything({ maxDepth: 2, withNullPrototype: true, withBigInt: true, withMap: true, withDate: true }),
);

interface Change {
  readonly at: number;
  readonly kind: 'replace' | 'remove' | 'add' | 'repeat';
  readonly name: string;
  readonly value: unknown;
}

type Container = Record<string, unknown>;

/** Every object and array within a value. Elements of a typed array take numbers only. */
const containersOf = (value: unknown): Container[] =>
  typeof value !== 'object' || value === null || ArrayBuffer.isView(value)
    ? []
    : [value as Container, ...Object.values(value).flatMap((member) => containersOf(member))];

const change = (target: Container, { kind, at, name, value }: Change): void => {
  const keys = Object.keys(target);
  // An empty array has no name to replace, and its `length` takes few values.
  const key = keys[at % Math.max(1, keys.length)] ?? (Array.isArray(target) ? '0' : name);
  const put = (to: string, what: unknown) =>
    Reflect.defineProperty(target, to, { value: what, configurable: true, enumerable: true, writable: true });
  if (kind === 'replace') put(key, value);
  else if (kind === 'remove' && !Array.isArray(target)) Reflect.deleteProperty(target, key);
  else if (kind === 'repeat' && Array.isArray(target)) target.push(...target.slice(0, 50));
  else if (!Array.isArray(target)) put(name, value);
  else target.push(value);
};

/** A valid structure with up to four changes anywhere in it. */
export const altered = (valid: unknown, values: fc.Arbitrary<unknown> = json): fc.Arbitrary<unknown> =>
  fc
    .array(
      fc.record({
        at: fc.nat(1000),
        kind: fc.constantFrom('replace', 'remove', 'add', 'repeat'),
        name: fc.oneof(fc.constantFrom(...STRINGS.slice(0, 14)), fc.string({ maxLength: 8 })),
        value: values,
      }) as fc.Arbitrary<Change>,
      { maxLength: 4 },
    )
    .map((changes) => {
      const copy = structuredClone(valid);
      for (const { value, ...rest } of changes) {
        // Values are shared between inputs: without a copy, one could come to contain itself.
        const one = { ...rest, value: structuredClone(value) };
        const containers = containersOf(copy);
        const target = containers[one.at % Math.max(1, containers.length)];
        if (target) change(target, one);
      }
      return copy;
    });

/** Bytes with up to six of them changed, inserted or removed, or cut off, or repeated. */
export const damaged = (valid: Uint8Array): fc.Arbitrary<Uint8Array<ArrayBuffer>> =>
  fc
    .array(fc.tuple(fc.nat(1_000_000), fc.nat(255), fc.constantFrom('set', 'insert', 'remove', 'cut', 'repeat')), {
      maxLength: 6,
    })
    .map((changes) => {
      let bytes = [...valid];
      for (const [position, byte, kind] of changes) {
        const at = position % Math.max(1, bytes.length);
        if (kind === 'set') bytes[at] = byte;
        else if (kind === 'insert') bytes.splice(at, 0, byte);
        else if (kind === 'remove') bytes.splice(at, 1);
        else if (kind === 'cut') bytes = bytes.slice(0, at);
        else bytes.push(...bytes.slice(0, 5000));
      }
      return Uint8Array.from(bytes);
    });

export const bytes = fc.uint8Array({ maxLength: 600 }) as fc.Arbitrary<Uint8Array<ArrayBuffer>>;
