/** A TCP proxy on loopback that can stop to forward: to its clients, the server behind it hangs. */

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** Start a proxy in front of a port of this machine. */
export const startProxy = async (target: number) => {
  const sockets = new Set<Socket>();
  let isPaused = false;
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const upstream = connect({ port: target, host: '127.0.0.1', allowHalfOpen: true });
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => {});
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
      // What arrives during a pause is lost, the end of a connection too.
      from.on('data', (bytes) => {
        if (!isPaused) to.write(bytes);
      });
      from.on('end', () => {
        if (!isPaused) to.end();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    /** Whether a client is connected. */
    hasClients: () => sockets.size > 0,
    pause: () => {
      isPaused = true;
    },
    resume: () => {
      isPaused = false;
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
};
