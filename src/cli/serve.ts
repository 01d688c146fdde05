/**
 * `tessera operator`: serves an operator on a port until a signal stops it.
 *
 * Standard output carries created credentials, and one line when the port is open. Everything else goes to standard error.
 */

import { pino } from 'pino';
import { createOperator } from '../operator/index.ts';
import { type Listening, listen } from '../operator/node.ts';
import type { Io } from './io.ts';
import type { OperatorSettings } from './operator-settings.ts';

/** Serve until a signal stops the process. */
export async function serve(settings: OperatorSettings, io: Io): Promise<void> {
  const { port = 8080, host = '127.0.0.1', logLevel = 'info', rootSecretFile: _, ...options } = settings;
  // Without host name and PID, which log collectors add.
  const logger = pino({ base: null, level: logLevel }, { write: (line) => io.err(line.trimEnd()) });
  const operator = createOperator({ ...options, logger });
  if (operator.inMemory) {
    if (options.rootSecret === undefined)
      io.err(
        'warning: expected a root secret, got none: a random one is used, so IDs, keys and tokens end with this process',
      );
    io.err('warning: opt-outs are kept in memory and end with this process');
  }
  let listening: Listening;
  try {
    await operator.ready;
    listening = await listen(operator, { port, host });
  } catch (error) {
    // Releases the lock of a database folder.
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
