/** Finds a port for a test server that must know its port before it starts. */

import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Below the ports that the system assigns to connections and to servers that request any port (32768 and up on Linux, 49152 and
 * up elsewhere), so that nobody else takes the port before the test's server does.
 */
const [FIRST, COUNT] = [12_000, 20_000];

/** Return a TCP port of 127.0.0.1 that is free now. */
export async function freePort(): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    const port = FIRST + Math.floor(Math.random() * COUNT);
    const server = createServer().listen(port, '127.0.0.1');
    try {
      await once(server, 'listening');
    } catch (error) {
      if (attempt === 20) throw error;
      continue;
    }
    server.close();
    await once(server, 'close');
    return port;
  }
}
