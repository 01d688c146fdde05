/** A port for a server of a test that must know its port before it starts. */

import { once } from 'node:events';
import { createServer } from 'node:net';

// Below the ports that the system gives to connections and to servers without a port of their own (32768 and up on Linux, 49152 on
// others): nobody else takes it before the server of the test does.
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
