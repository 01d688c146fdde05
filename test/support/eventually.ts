/** Wait for a condition that only repeated reads can tell, as in a real browser. */

/** A value as JSON, with long strings (tokens) cut to their last characters. */
const summarize = (value: unknown) =>
  JSON.stringify(value, (_, part) => (typeof part === 'string' && part.length > 100 ? `...${part.slice(-8)}` : part));

/**
 * Read a value repeatedly until it matches. There is a last read after the deadline, however long the one before took:
 * WebKit's driver may not answer for longer than `withinMs` while a page navigates.
 */
export const eventually = async <T>(
  what: string,
  read: () => Promise<T>,
  matches: (value: T) => unknown,
  withinMs = 20_000,
): Promise<T> => {
  const end = Date.now() + withinMs;
  for (;;) {
    const isLast = Date.now() > end;
    const value = await read();
    if (matches(value)) return value;
    if (isLast) throw new Error(`not within ${withinMs} ms: ${what}; last seen: ${summarize(value)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
};
