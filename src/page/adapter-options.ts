/**
 * Checks of the options of adapters, for the development build: a misspelt name would otherwise have no effect and no error.
 * It knows no adapter.
 */

import { choiceFault, nameFault, typeFault } from '../token/checks.ts';

declare global {
  /**
   * Defined in the production build. Adapters read it instead of `isDevelopment`: the bundler then drops their import of this
   * file, and in production each adapter stays one file.
   */
  const __TESSERA_PRODUCTION__: true | undefined;
}

/**
 * Check the names of options, and the options that are one of several strings.
 *
 * @param call   the function of the page, for the sentence.
 * @param known  the permitted names: each with its choices, or with null if it takes other values.
 * @throws {TypeError} naming function and option, what was expected and what came.
 * @example checkAdapterOptions('connectPrebid', { pbjs: null, name: ['uid2', 'euid'] }, options)
 */
export function checkAdapterOptions(
  call: string,
  known: Readonly<Record<string, readonly string[] | null>>,
  options: object,
): void {
  const path = `${call}: options`;
  const fault = typeFault(path, 'object', options) ?? nameFault(`${path}.`, Object.keys(known), options);
  if (fault) throw new TypeError(fault);
  for (const [name, value] of Object.entries(options)) {
    const choices = known[name];
    const choice = choices && value !== undefined && choiceFault(`${path}.${name}`, choices, value);
    if (choice) throw new TypeError(choice);
  }
}
