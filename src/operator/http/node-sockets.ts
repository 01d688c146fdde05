/** The connections of a Node server: which of them are idle, how many requests of each are in progress, and how they end. */

/// <reference types="node" />

import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';

export interface OpenSockets {
  accepted(): number;
  /** Tell whether no later request has been received on the same socket, because clients may send several at once. */
  isNewest(request: IncomingMessage): boolean;
  whenIdle(socket: Socket, run: () => void): void;
  /** Close the sockets without a request in progress, and every other socket once its requests have ended. */
  closeIdle(): void;
  /** Close all sockets. Node's `closeAllConnections` skips those whose `Upgrade` header has not been ignored yet. */
  closeAll(): void;
}

interface SocketState {
  /** The requests without an answer, newest last. */
  readonly requests: IncomingMessage[];
  onIdle?: (() => void) | undefined;
}

/** How many requests of one connection may be without an answer. Thousands of small ones fit into one packet. */
const MAX_UNANSWERED = 32;

/** A socket with its parser, which Node does not document. */
interface ParsedSocket extends Socket {
  readonly parser?: { onIncoming: () => number } | null;
}

/** Close a connection. Node would parse the rest of the packet (30 ms, 13 MB), unless its parser fails at the next request. */
function cutOff(socket: ParsedSocket): void {
  if (socket.parser) socket.parser.onIncoming = () => -1;
  socket.destroy();
}

/** HTTP/1.1 requires a 400. With `requireHostHeader`, Node would send it itself, and the request would not count. */
function isWithoutHost({ httpVersion, headers }: IncomingMessage): boolean {
  return httpVersion === '1.1' && headers.host === undefined;
}

/**
 * Pass a server's requests on to its listener, and close a connection with more than {@link MAX_UNANSWERED} without an answer. An
 * answer counts from the next turn of the event loop on: Node may run it between two requests of one packet, if they have bodies.
 */
function passOn(server: Server, states: ReadonlyMap<Socket, SocketState>): void {
  const [answer] = server.listeners('request') as RequestListener[];
  server.removeAllListeners('request');
  const receive = (request: IncomingMessage, response: ServerResponse): void => {
    const { socket } = request;
    const state = states.get(socket);
    if (!state || socket.destroyed) return;
    const { requests } = state;
    if (requests.push(request) > MAX_UNANSWERED) {
      cutOff(socket);
      return;
    }
    const remove = (): void => {
      requests.splice(requests.indexOf(request), 1);
      if (requests.length > 0) return;
      const { onIdle } = state;
      state.onIdle = undefined;
      onIdle?.();
    };
    response.once('close', () => setImmediate(remove));
    // After the packet has been parsed, so that few requests of a connection that is cut off cost an answer.
    process.nextTick(() => {
      if (socket.destroyed) return;
      if (isWithoutHost(request)) response.writeHead(400, { connection: 'close' }).end();
      else answer!(request, response);
    });
  };
  server.on('request', receive);
  // Node would answer it itself, so it would not count. HTTP permits to ignore the header.
  server.on('checkExpectation', receive);
}

/** Not by Node's `closeIdleConnections`: it skips connections without a request, which browsers open in advance. */
export function trackSockets(server: Server): OpenSockets {
  const states = new Map<Socket, SocketState>();
  let accepted = 0;
  const whenIdle = (socket: Socket, run: () => void): void => {
    const state = states.get(socket);
    if (state?.requests.length) state.onIdle = run;
    else run();
  };
  server.on('connection', (socket: Socket) => {
    if (states.has(socket)) return;
    accepted++;
    states.set(socket, { requests: [] });
    socket.once('close', () => void states.delete(socket));
  });
  passOn(server, states);
  return {
    accepted: () => accepted,
    isNewest: (request) => states.get(request.socket)?.requests.at(-1) === request,
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

/** Resolves when a response is sent or its connection closed; after `ms`, closes it and resolves with false. */
export async function sentWithin(response: ServerResponse, socket: Socket, ms: number): Promise<boolean> {
  if (response.closed || socket.closed) return true;
  let isSent = true;
  const timer = setTimeout(() => {
    isSent = false;
    socket.destroy();
  }, ms);
  // A response that waits for an earlier one does not emit `close` with its socket.
  await new Promise<void>((resolve) => {
    response.once('close', resolve);
    socket.once('close', () => resolve());
  });
  clearTimeout(timer);
  return isSent;
}

/** Headers that offer another protocol, in lower case. */
const OFFERS = ['upgrade', 'http2-settings'];

function headWithoutOffers({ method, url, httpVersion, rawHeaders }: IncomingMessage): string {
  let head = `${method} ${url} HTTP/${httpVersion}\r\n`;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const [name, value] = [rawHeaders[at]!, rawHeaders[at + 1]!];
    const isKept = (option: string): boolean => !OFFERS.includes(option.trim().toLowerCase());
    const kept = name.toLowerCase() === 'connection' ? value.split(',').filter(isKept).join(',') : value;
    if (isKept(name) && (kept !== '' || value === '')) head += `${name}: ${kept}\r\n`;
  }
  return `${head}\r\n`;
}

/**
 * Ignore the `Upgrade` header, as HTTP permits: Java's client offers HTTP/2 with it. Without a listener, Node 20 passes the
 * request on without its body, drops the rest of the packet, and reads the body in the next packet as a new request: request
 * smuggling behind a proxy. So the server reads the request again, without the header, as on a new connection.
 */
export function ignoreUpgrades(server: Server, { whenIdle }: OpenSockets): void {
  server.on('upgrade', (request: IncomingMessage, socket: Socket, rest: Buffer) => {
    const ignore = (): void => {};
    socket.on('error', ignore);
    // After the answers to earlier requests, because a client assigns answers to its requests in order.
    whenIdle(socket, () => {
      socket.off('error', ignore);
      if (socket.destroyed) return;
      socket.unshift(Buffer.concat([Buffer.from(headWithoutOffers(request), 'latin1'), rest]));
      server.emit('connection', socket);
    });
  });
}

const MAX_TURNS = 1000;
const IDLE_GRACE_MS = 1000;

/** Accept the connections that Node has not accepted yet: the system resets them when the port closes. Ends at an idle turn. */
async function acceptPending({ accepted }: OpenSockets): Promise<void> {
  const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
  // From one immediate to the next is a whole turn.
  await turn();
  for (let before = -1, turns = 0; accepted() > before && turns < MAX_TURNS; turns++) {
    before = accepted();
    await turn();
  }
}

/** Accept no new connections, answer requests in progress and in transit, close idle connections; after `graceMs`, close all. */
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
