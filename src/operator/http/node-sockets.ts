/** The connections of a Node server: which of them are idle, how many requests of each are in progress, and how they end. */

/// <reference types="node" />

import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';

/** The open connections of a server. */
export interface OpenSockets {
  /** How many sockets have been accepted so far. */
  accepted(): number;
  /** Tell whether no later request has been received on the same socket, because clients may send several at once. */
  isNewest(request: IncomingMessage): boolean;
  /** Call `run` when no request is in progress on a socket. */
  whenIdle(socket: Socket, run: () => void): void;
  /** Close the sockets without a request in progress, and every other socket once its requests have ended. */
  closeIdle(): void;
  /** Close all sockets. Node's `closeAllConnections` skips those that carried a request for an upgrade. */
  closeAll(): void;
}

/** A request in progress, or one that waits until those before it have been answered. */
interface Received {
  readonly request: IncomingMessage;
  /** Start to answer it. Undefined once it has started. */
  start?: (() => void) | undefined;
}

interface SocketState {
  /** The requests without an answer, newest last. The first {@link MAX_PIPELINED} of them have started. */
  readonly requests: Received[];
  onIdle?: () => void;
}

/**
 * How many requests of one connection are answered at a time. Clients may send further requests without waiting for answers, and
 * thousands of them fit into one packet: with a limit, connections take turns, and other clients do not wait for all of them.
 */
const MAX_PIPELINED = 4;

/** Read no more from a socket with requests that wait. Reading the body of a request resumes its socket. */
function pauseIfFull(socket: Socket, { requests }: SocketState): void {
  if (requests.length > MAX_PIPELINED) socket.pause();
}

/** A request has been answered: start the next one that waits. */
function startNext(socket: Socket, { requests, onIdle }: SocketState, ended: Received): void {
  const index = requests.indexOf(ended);
  // The socket has been closed.
  if (index < 0) return;
  requests.splice(index, 1);
  // In another turn of the event loop, because an answer may end in the turn of its request: other connections are read first.
  const next = requests[MAX_PIPELINED - 1];
  if (next) setImmediate(() => next.start?.());
  if (requests.length === MAX_PIPELINED) socket.resume();
  if (requests.length === 0) onIdle?.();
}

/** Pass a server's requests on to its listener, {@link MAX_PIPELINED} of a connection at a time. */
function passOnInTurns(server: Server, stateOf: (socket: Socket) => SocketState | undefined): void {
  const [answer] = server.listeners('request') as RequestListener[];
  server.removeAllListeners('request');
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    const state = stateOf(socket);
    // The socket has been closed.
    if (!state) return;
    const received: Received = {
      request,
      start: () => {
        received.start = undefined;
        answer!(request, response);
      },
    };
    state.requests.push(received);
    response.once('close', () => startNext(socket, state, received));
    if (state.requests.length <= MAX_PIPELINED) received.start?.();
    pauseIfFull(socket, state);
  });
}

/**
 * Follow the connections of a server from now on, and pass on its requests in turns. A socket is not read while some wait.
 *
 * Node's `closeIdleConnections` skips connections that never carried a request; browsers open such connections in advance.
 */
export function trackSockets(server: Server): OpenSockets {
  const states = new Map<Socket, SocketState>();
  let accepted = 0;
  const whenIdle = (socket: Socket, run: () => void): void => {
    const state = states.get(socket);
    if (state?.requests.length) state.onIdle = run;
    else run();
  };
  server.on('connection', (socket: Socket) => {
    accepted++;
    const state: SocketState = { requests: [] };
    states.set(socket, state);
    socket.on('resume', () => pauseIfFull(socket, state));
    socket.once('close', () => {
      states.delete(socket);
      // Nobody reads the answers to those that wait.
      for (const one of state.requests.splice(0)) one.start = undefined;
    });
  });
  passOnInTurns(server, (socket) => states.get(socket));
  return {
    accepted: () => accepted,
    isNewest: (request) => states.get(request.socket)?.requests.at(-1)?.request === request,
    whenIdle,
    closeIdle: () => {
      for (const [socket, state] of states) {
        if (state.requests.length === 0) socket.destroy();
        else state.onIdle ??= () => socket.destroySoon();
      }
    },
    closeAll: () => {
      for (const socket of states.keys()) socket.destroy();
    },
  };
}

const UPGRADE_ANSWER = [
  'HTTP/1.1 400 Bad Request',
  'Connection: close',
  'Content-Type: text/plain',
  'Content-Length: 37',
  '',
  'expected no Upgrade header, got one\r\n',
].join('\r\n');
const CLOSE_AFTER_MS = 1000;

/**
 * Answer 400 to requests with an `Upgrade` header.
 *
 * Without a listener, Node 20 passes the request to the operator without its body, drops the rest of the packet, and reads the body
 * in the next packet as a new request: request smuggling behind a proxy.
 */
export function refuseUpgrades(server: Server, { whenIdle }: OpenSockets): void {
  server.on('upgrade', ({ socket }: IncomingMessage) => {
    socket.on('error', () => {});
    // Read the rest of the body, because a connection that is closed with unread data is reset, and the answer may be lost.
    socket.resume();
    // Send this after the answers to earlier requests, because a client assigns answers to its requests in order.
    whenIdle(socket, () => {
      socket.end(UPGRADE_ANSWER);
      setTimeout(() => socket.destroy(), CLOSE_AFTER_MS).unref();
    });
  });
}

const MAX_TURNS = 1000;
const IDLE_GRACE_MS = 1000;

/**
 * Accept the connections that the system has completed and Node has not accepted yet, because the system resets them when the port
 * is closed. Resolves after a turn of the event loop without a new one.
 */
async function acceptPending({ accepted }: OpenSockets): Promise<void> {
  const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
  // From one immediate to the next is a whole turn.
  await turn();
  for (let before = -1, turns = 0; accepted() > before && turns < MAX_TURNS; turns++) {
    before = accepted();
    await turn();
  }
}

/**
 * Close a server gracefully: accept no new connections, answer the requests in progress and in transit, close idle connections.
 *
 * @param graceMs  when the connections with requests in progress are closed too, ms.
 */
export async function closeServer(server: Server, sockets: OpenSockets, graceMs: number): Promise<void> {
  const { closeIdle, closeAll } = sockets;
  await acceptPending(sockets);
  return new Promise((resolve, reject) => {
    const timer = setTimeout(closeAll, graceMs);
    // A request on an idle connection may be in transit, or received but not read yet. After a pause of the whole process, the
    // timer runs before such requests are read, and `setImmediate` after it.
    const idleTimer = setTimeout(() => setImmediate(closeIdle), Math.min(IDLE_GRACE_MS, graceMs));
    // The `close` of an HTTP server would close the idle connections at once.
    NetServer.prototype.close.call(server, (error) => {
      clearTimeout(timer);
      clearTimeout(idleTimer);
      // End the interval at which Node checks the time-outs.
      server.close();
      error ? reject(error) : resolve();
    });
  });
}
