/// <reference types="node" />
/** Opens the ports of `tessera operator`. */

import { type Listening, type ListenOptions, listen } from '../operator/node.ts';
import { listenError, type PortOption } from './listen-error.ts';

/**
 * Listen on the port of an option.
 *
 * @throws {Error} if the port cannot be opened. The message names the option.
 */
export async function openPort(
  option: PortOption,
  handler: Parameters<typeof listen>[0],
  options: ListenOptions & { readonly port: number; readonly host: string },
): Promise<Listening> {
  try {
    return await listen(handler, options);
  } catch (error) {
    throw listenError(error, option, options.host, options.port);
  }
}
