/**
 * Stands for Node's `util` in the ES modules, which run where there is no Node: prom-client asks it to put a wrong value into
 * the words of an error.
 */

export const format = String;
export const inspect = (value: unknown): string => JSON.stringify(value);
