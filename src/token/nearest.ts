/** Finds the name that a misspelt one stands for. */

/** In a few letters, capitals or punctuation, or as a part: `nearest('optOut', ['token', 'optout'])` is `'optout'`. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  return known.find((one) => lettersOf(one) === lettersOf(name)) ?? known.find((one) => isNear(name, one));
}

export function lettersOf(name: string): string {
  return name.replace(/\W|_/g, '').toLowerCase();
}

function isNear(name: string, known: string): boolean {
  const [one, other] = [lettersOf(name), lettersOf(known)];
  if (one.length > 2 && (other.startsWith(one) || other.endsWith(one))) return true;
  return one.startsWith(other) || distance(one, other) <= Math.max(1, Math.floor(other.length / 3));
}

function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (const [i, letter] of [...one].entries()) {
    const next = [i + 1];
    for (const [j, expected] of [...other].entries())
      next.push(Math.min(next[j]! + 1, row[j + 1]! + 1, row[j]! + (letter === expected ? 0 : 1)));
    row = next;
  }
  return row[other.length]!;
}
