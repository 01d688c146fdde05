/**
 * Chooses the column of a file that a verb reads: by name or number, or by a known name in the first line.
 *
 * No message quotes a field: the first line may hold a person's address.
 */

/** The chosen column. */
export interface Column {
  /** From 0. */
  readonly index: number;
  /** The first line, if it names the columns. */
  readonly header: readonly string[] | undefined;
}

/** Reduce a name to letters and digits, so that `E-Mail address` equals `email_address`. */
export function normalizeName(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '');
}

const findByName = (first: readonly string[], name: string): number => {
  for (const normalize of [(field: string) => field.trim(), normalizeName]) {
    const found = first.flatMap((field, index) => (normalize(field) === normalize(name) ? [index] : []));
    if (found.length === 1) return found[0]!;
    if (found.length > 1) throw new RangeError(`--column: expected one column of that name, got ${found.length}`);
  }
  throw new RangeError(
    `--column: expected a name in the first line or a number from 1 to ${first.length}, got another name`,
  );
};

/**
 * Choose a column.
 *
 * @param first  the first row; undefined for an empty file.
 * @param given  a name, or a number from 1.
 * @param known  names to search for if none is given, as {@link normalizeName} returns them.
 * @throws {RangeError} if no column fits, or more than one.
 */
export function columnOf(
  first: readonly string[] | undefined,
  given: string | undefined,
  known: readonly string[],
): Column {
  if (!first) return { index: 0, header: undefined };
  const isKnown = (field: string | undefined) => known.includes(normalizeName(field ?? ''));
  const at = (index: number): Column => ({ index, header: isKnown(first[index]) ? first : undefined });
  if (given !== undefined && /^\d+$/.test(given)) {
    const number = Number(given);
    if (number < 1 || number > first.length)
      throw new RangeError(`--column: expected a number from 1 to ${first.length}, got ${number}`);
    return at(number - 1);
  }
  if (given !== undefined) return { index: findByName(first, given), header: first };
  if (first.length === 1) return at(0);
  const found = first.flatMap((field, index) => (isKnown(field) ? [index] : []));
  if (found.length !== 1)
    throw new RangeError(
      `--column: expected a name or number, as not exactly one column has a known name (${known.join(', ')}); got none for ${first.length} columns, ${found.length} of them known`,
    );
  return at(found[0]!);
}
