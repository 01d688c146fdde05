/**
 * Names options as the command line does, in errors of functions that name them as a program does.
 */

const flagOf = (name: string): string => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

/**
 * Rewrite the message of an error about wrong options: `--site-id` for `siteId`.
 *
 * @param names  the options of the command, as a program names them.
 * @param flags  where the root secret came from: the file of `--root-secret-file`, or the environment.
 */
export function withFlagNames(
  error: unknown,
  names: readonly string[],
  { rootSecretFile }: { readonly rootSecretFile?: string | undefined },
): unknown {
  if (error instanceof TypeError || error instanceof RangeError) {
    const flags = new Map(names.map((name) => [name, flagOf(name)]));
    flags.set('rootSecret', rootSecretFile === undefined ? 'TESSERA_ROOT_SECRET' : '--root-secret-file');
    // The name at the start, and camelCase names in the sentence, which cannot be English words.
    const found = /^[a-z]+(?=:)|\b[a-z]+(?:[A-Z][a-z]+)+\b/g;
    error.message = error.message.replace(found, (name) => flags.get(name) ?? name);
  }
  return error;
}
