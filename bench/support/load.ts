/**
 * A load on loopback with little cost of its own: the same request again and again on connections that stay open, one at a
 * time on each, written as prepared bytes. A client library would be busier than the server under test.
 */

import { connect, type Socket } from 'node:net';

export interface Target {
  readonly port: number;
  readonly path: string;
  readonly body: string;
  readonly apiKey?: string;
}

export interface Load {
  /** Measure answers per second over about `ms`. Any status except 200 is an error. */
  run(ms: number): Promise<number>;
  close(): void;
}

const HEADERS_END = '\r\n\r\n';

/** Read one answer at a time, and call back with each complete one. */
const onAnswer = (socket: Socket, answered: () => void, fail: (error: Error) => void): void => {
  let missing = -1;
  let head = '';
  socket.on('error', fail);
  socket.on('data', (chunk) => {
    let body = chunk.length;
    if (missing < 0) {
      head += chunk.toString('latin1');
      const end = head.indexOf(HEADERS_END);
      if (end < 0) return;
      const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
      if (!head.startsWith('HTTP/1.1 200 ') || length === undefined)
        return fail(new Error(`expected 200 and a content-length, got ${head.slice(0, end)}`));
      missing = Number(length);
      body = head.length - end - HEADERS_END.length;
      head = '';
    }
    missing -= body;
    if (missing > 0) return;
    missing = -1;
    answered();
  });
};

const requestTo = ({ port, path, body, apiKey }: Target): Buffer =>
  Buffer.from(
    `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ncontent-type: text/plain\r\n` +
      `${apiKey ? `authorization: Bearer ${apiKey}\r\n` : ''}content-length: ${body.length}\r\n\r\n${body}`,
    'latin1',
  );

/** Send one request on a connection of its own. Resolves with the time from connecting to the whole answer, ms. */
export const askOnce = (target: Target): Promise<number> =>
  new Promise((resolve, reject) => {
    const start = performance.now();
    const socket = connect({ port: target.port, host: '127.0.0.1', noDelay: true });
    onAnswer(
      socket,
      () => {
        resolve(performance.now() - start);
        socket.destroy();
      },
      reject,
    );
    socket.write(requestTo(target));
  });

/** Open the connections. */
export const openLoad = async (target: Target, connections: number): Promise<Load> => {
  const request = requestTo(target);
  const { port } = target;
  const sockets = await Promise.all(
    Array.from(
      { length: connections },
      () =>
        new Promise<Socket>((resolve, reject) => {
          const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => resolve(socket));
          socket.once('error', reject);
        }),
    ),
  );
  let answers = 0;
  let open = 0;
  let until = 0;
  let done: (rate: number) => void = () => {};
  let failed: (error: Error) => void = () => {};
  let start = 0;
  for (const socket of sockets)
    onAnswer(
      socket,
      () => {
        answers++;
        const now = performance.now();
        if (now < until) socket.write(request);
        else if (--open === 0) done((answers / (now - start)) * 1000);
      },
      (error) => failed(error),
    );
  return {
    run: (ms) =>
      new Promise((resolve, reject) => {
        done = resolve;
        failed = reject;
        answers = 0;
        open = connections;
        start = performance.now();
        until = start + ms;
        for (const socket of sockets) socket.write(request);
      }),
    close: () => {
      for (const socket of sockets) socket.destroy();
    },
  };
};
