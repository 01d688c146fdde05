/**
 * Replaces Node's `util` in the ES modules, which also run where Node's modules do not exist. prom-client uses it to format an
 * invalid value in an error message.
 */

export const format = String;

export function inspect(value: unknown): string {
  return JSON.stringify(value);
}
