/// <reference types="node" />
/** Describes why a port could not be opened, and which option to change. */

export type PortOption = '--port' | '--metrics-port';

/** Convert Node's error. An error with another cause is returned as it is. */
export function listenError(error: unknown, option: PortOption, host: string, port: number): Error {
  const { code } = error as NodeJS.ErrnoException;
  const failure = `could not listen on ${host}:${port} (${code})`;
  if (code === 'EADDRINUSE')
    return new Error(`${failure}: another process uses the port; choose another with ${option}, or 0 for any free one`);
  if (code === 'EACCES')
    return new Error(`${failure}: this user may not open the port; choose one from 1024 on with ${option}`);
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return new Error(`${failure}: this machine has no such address; choose another with --host`);
  return error as Error;
}
