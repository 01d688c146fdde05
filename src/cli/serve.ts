/**
 * What `tessera operator` does: the service behind a port, until it is told to stop.
 *
 * Standard output carries credentials that were made and one line when the port is open; all else goes to standard error.
 */

import { pino } from 'pino';
import { createOperator } from '../operator/index.ts';
import { type Listening, listen } from '../operator/node.ts';
import type { Io } from './io.ts';
import type { Settings } from './settings.ts';

/** Serve until the process is told to stop. */
export async function serve(settings: Settings, io: Io): Promise<void> {
  const { port = 8080, host = '127.0.0.1', logLevel = 'info', rootSecretFile: _, ...options } = settings;
  // Host and process are not in it: whoever collects the lines knows them.
  const logger = pino({ base: null, level: logLevel }, { write: (line) => io.err(line.trimEnd()) });
  const operator = createOperator({ ...options, logger });
  if (operator.inMemory) {
    if (options.rootSecret === undefined)
      io.err('warning: no root secret given, one was made: IDs, keys and tokens end with this process');
    io.err('warning: opt-outs are kept in memory: they end with this process');
  }
  let listening: Listening;
  try {
    await operator.ready;
    listening = await listen(operator, { port, host });
  } catch (error) {
    // A folder is left to the next one.
    await operator.close();
    throw error;
  }
  for (const { apiKey, clientSecret, siteId, roles } of operator.made) {
    io.out(`api key: ${apiKey}`);
    io.out(`client secret: ${clientSecret}`);
    io.out(`site id: ${siteId}`);
    io.out(`roles: ${roles.join(',')}`);
  }
  io.out(`listening on ${listening.url}`);
  await io.stopped();
  await listening.close();
  await operator.close();
}
