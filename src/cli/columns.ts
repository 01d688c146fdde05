/**
 * Which column of a file a verb reads: by the name or the number that was given, else by what its first line says.
 *
 * Before: `rows.ts`. No message shows a field: the first line may be somebody's address already.
 */

/** A column that was chosen. */
export interface Column {
  /** From 0 on. */
  readonly index: number;
  /** The first line, where it names the columns and is no row. */
  readonly header: readonly string[] | undefined;
}

/** Letters and digits of a name: `E-Mail address` and `email_address` differ no more than people do who write them. */
export function plainName(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '');
}

const named = (first: readonly string[], name: string): number => {
  for (const as of [(field: string) => field.trim(), plainName]) {
    const found = first.flatMap((field, index) => (as(field) === as(name) ? [index] : []));
    if (found.length === 1) return found[0]!;
    if (found.length > 1) throw new RangeError(`--column: expected one column of that name, got ${found.length}`);
  }
  throw new RangeError(
    `--column: expected a name in the first line, got another; it has ${first.length}, which also go by number, from 1`,
  );
};

/**
 * Choose a column.
 *
 * @param first  the first row; undefined where there is none, and so nothing to miss.
 * @param given  a name; or a number, from 1 on.
 * @param known  names that are looked for where none is given, as {@link plainName} makes them.
 * @throws {RangeError} there is none, or more than one.
 */
export function columnOf(
  first: readonly string[] | undefined,
  given: string | undefined,
  known: readonly string[],
): Column {
  if (!first) return { index: 0, header: undefined };
  const isKnown = (field: string | undefined) => known.includes(plainName(field ?? ''));
  const at = (index: number): Column => ({ index, header: isKnown(first[index]) ? first : undefined });
  if (given !== undefined && /^\d+$/.test(given)) {
    const number = Number(given);
    if (number < 1 || number > first.length)
      throw new RangeError(`--column: expected a number from 1 to ${first.length}, got ${number}`);
    return at(number - 1);
  }
  if (given !== undefined) return { index: named(first, given), header: first };
  if (first.length === 1) return at(0);
  const found = first.flatMap((field, index) => (isKnown(field) ? [index] : []));
  if (found.length !== 1)
    throw new RangeError(
      `--column: expected it where not one of several columns has a known name (${known.join(', ')}), got ${first.length} columns, ${found.length} of them known`,
    );
  return at(found[0]!);
}
