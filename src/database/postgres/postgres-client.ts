/** A client of `pg` that always ends: neither a failed start nor a server that does not answer keeps its socket open. */

import type { Client, ClientConfig } from 'pg';
import type { PgPackage } from '../packages.ts';

const CLOSE_TIMEOUT_MS = 1000;

/** The types of `pg` lack this method. */
function streamOf(client: Client): { destroy(): void } {
  return (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream;
}

/** For a connection that is being ended: a server that does not answer would keep the socket open, and the process alive. */
export function destroySoon(client: Client): void {
  setTimeout(() => streamOf(client).destroy(), CLOSE_TIMEOUT_MS).unref();
}

/**
 * If `pg` cannot answer the server's request for a password, it leaves the connection open. The connection would keep the process
 * alive until the server ends it a minute later. The pool calls `connect` and `end` with a callback.
 */
export function createClosingClient(pg: PgPackage) {
  return function ClosingClient(config: ClientConfig): Client {
    const client = new pg.Client(config);
    const connectClient = client.connect.bind(client) as (done: (error: Error | null) => void) => void;
    const connectOrClose = (done: (error: Error | null) => void): void => {
      const end = (error: Error | null): void => {
        if (error) streamOf(client).destroy();
        done(error);
      };
      try {
        connectClient(end);
      } catch (error) {
        // An invalid port makes `connect` throw, and the pool would wait for its callback forever.
        end(error as Error);
      }
    };
    const endClient = client.end.bind(client) as (done: () => void) => void;
    const endOrDestroy = (done: () => void): void => {
      destroySoon(client);
      endClient(done);
    };
    return Object.assign(client, { connect: connectOrClose, end: endOrDestroy });
  } as unknown as new () => Client;
}
