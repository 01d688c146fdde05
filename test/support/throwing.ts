/** What stands in for a function or a getter that fails. */

export const throwing = (error: unknown) => (): never => {
  throw error;
};
