/**
 * Replaces option names in errors by the names on the command line.
 */

const flagOf = (name: string): string => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

/** The options on the command line. Without `rootSecretFile` and `config`, the root secret comes from the environment. */
interface GivenFlags {
  readonly rootSecretFile?: string | undefined;
  readonly config?: string | undefined;
}

/**
 * Rewrite the message of an error about wrong options, for example `siteId` as `--site-id`. With a configuration file, only
 * options on the command line are rewritten; in the file, options have their names in a program.
 *
 * @param names  the options of the command, with their names in a program.
 */
export function withFlagNames(error: unknown, names: readonly string[], flags: GivenFlags): unknown {
  if (error instanceof TypeError || error instanceof RangeError) {
    const { rootSecretFile, config } = flags;
    const isGiven = (name: string): boolean => flags[name as keyof GivenFlags] !== undefined;
    const shown = new Map(
      names.filter((name) => config === undefined || isGiven(name)).map((name) => [name, flagOf(name)]),
    );
    if (rootSecretFile !== undefined) shown.set('rootSecret', '--root-secret-file');
    else if (config === undefined) shown.set('rootSecret', 'TESSERA_ROOT_SECRET');
    // The name at the start, and camelCase names within the sentence, which cannot be English words. `participants[0].siteId` is
    // in the configuration file.
    const found = /^[a-z]+(?=:)|(?<!\.)\b[a-z]+(?:[A-Z][a-z]+)+\b/g;
    error.message = error.message.replace(found, (name) => shown.get(name) ?? name);
  }
  return error;
}
