/// <reference types="node" />
/** Opens the ports of `tessera operator`, and says in the words of its options why one could not be opened. */

import { type Listening, type ListenOptions, listen } from '../operator/node.ts';

/** An option that gives a port. */
export type PortOption = '--port' | '--metrics-port';

const listenError = (error: unknown, option: PortOption, host: string, port: number): Error => {
  const { code } = error as NodeJS.ErrnoException;
  const failure = `could not listen on ${host}:${port} (${code})`;
  if (code === 'EADDRINUSE')
    return new Error(`${failure}: another process uses the port; give another with ${option}, or 0 for any free one`);
  if (code === 'EACCES')
    return new Error(`${failure}: this user may not open the port; give one from 1024 on with ${option}`);
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return new Error(`${failure}: this machine has no such address; give another with --host`);
  return error as Error;
};

/**
 * Listen on the port of an option.
 *
 * @throws {Error} if the port cannot be opened; its message names the option.
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
