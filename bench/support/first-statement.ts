/**
 * Put a statement before the first one of a script. A comment in the first line stays there: it may be a hint for the compiler.
 *
 * @example beforeFirstStatement('var startedAt = performance.now();', code)
 */
export const beforeFirstStatement = (statement: string, code: string): string =>
  code.replace(/^(\/\/.*\n)?/, (comment) => comment + statement);
