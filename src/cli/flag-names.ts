/**
 * Replaces option names in errors by the names on the command line.
 */

const flagOf = (name: string): string => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

/**
 * Rewrite the message of an error about wrong options, for example `siteId` as `--site-id`.
 *
 * @param names  the options of the command, with their names in a program.
 * @param flags  the source of the root secret: the file of `--root-secret-file`, or the environment.
 */
export function withFlagNames(
  error: unknown,
  names: readonly string[],
  { rootSecretFile }: { readonly rootSecretFile?: string | undefined },
): unknown {
  if (error instanceof TypeError || error instanceof RangeError) {
    const flags = new Map(names.map((name) => [name, flagOf(name)]));
    flags.set('rootSecret', rootSecretFile === undefined ? 'TESSERA_ROOT_SECRET' : '--root-secret-file');
    // The name at the start, and camelCase names within the sentence, which cannot be English words.
    const found = /^[a-z]+(?=:)|\b[a-z]+(?:[A-Z][a-z]+)+\b/g;
    error.message = error.message.replace(found, (name) => flags.get(name) ?? name);
  }
  return error;
}
