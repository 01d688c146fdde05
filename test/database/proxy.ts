/**
 * A TCP proxy on loopback that can stop to forward, so that to its clients the server behind it hangs, and that can move to another
 * server.
 */

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/**
 * Start a proxy in front of a port of this machine.
 *
 * @param onSent  receives what the clients send.
 */
export const startProxy = async (firstTarget: number, onSent: (bytes: Buffer) => void = () => {}) => {
  let target = firstTarget;
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
        if (from === client) onSent(bytes);
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
    pause: () => (isPaused = true),
    resume: () => (isPaused = false),
    /** Close all connections, and connect to another port from now on. */
    moveTo: (port: number) => {
      target = port;
      for (const socket of sockets) socket.destroy();
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
};
