/// <reference types="node" />
/** Opens the ports of `tessera operator`. If one cannot be opened, the error says which option to change. */

import { type Listening, type ListenOptions, listen } from '../operator/node.ts';

/** An option that specifies a port. */
export type PortOption = '--port' | '--metrics-port';

const listenError = (error: unknown, option: PortOption, host: string, port: number): Error => {
  const { code } = error as NodeJS.ErrnoException;
  const failure = `could not listen on ${host}:${port} (${code})`;
  if (code === 'EADDRINUSE')
    return new Error(`${failure}: another process uses the port; choose another with ${option}, or 0 for any free one`);
  if (code === 'EACCES')
    return new Error(`${failure}: this user may not open the port; choose one from 1024 on with ${option}`);
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return new Error(`${failure}: this machine has no such address; choose another with --host`);
  return error as Error;
};

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
