import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Caller } from '../../src/operator/http/caller-limits.ts';
import { type Listening, listen } from '../../src/operator/node.ts';
import { openRefresh } from '../../src/token/index.ts';
import { until } from '../support/clock.ts';
import { createTestService, envelope, NOON } from './fixtures.ts';

const open: Listening[] = [];
const start = async (...given: Parameters<typeof listen>): Promise<Listening> => {
  const listening = await listen(...given);
  open.push(listening);
  return listening;
};
afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(open.splice(0).map((server) => server.close()));
});

const recordAddresses = () => {
  const seen: (string | undefined)[] = [];
  const operator = {
    fetch: async (_: Request, { address }: { address?: string | undefined }) => {
      seen.push(address);
      return new Response();
    },
  };
  return { seen, operator };
};

const openConnection = async (port: number) => {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  const received = new Promise<string>((resolve) => socket.once('close', () => resolve(text)));
  socket.on('error', () => {});
  socket.on('data', (bytes) => {
    text += bytes;
  });
  await new Promise((resolve) => socket.once('connect', resolve));
  return { socket, received };
};

describe('listen', () => {
  test('leaves Request and Response of its host as they are', async () => {
    const own = { Request, Response };
    const { url, close } = await start(createTestService().operator, { port: 0 });
    expect(await fetch(`${url}/ops/healthcheck`)).toBeInstanceOf(Response);
    await close();
    expect([Request === own.Request, Response === own.Response]).toEqual([true, true]);
  });

  test('serves generate and refresh, with repeated leading slashes too', async () => {
    const service = createTestService();
    const { url, port } = await start(service.operator, { port: 0 });
    expect(url).toBe(`http://127.0.0.1:${port}`);
    const { apiKey, clientSecret } = service.participant;
    const generated = await fetch(`${url}/v2/token/generate`, {
      method: 'POST',
      body: await envelope({ email: 'user@example.com' }, clientSecret, NOON),
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/octet-stream' },
    });
    expect([generated.status, generated.headers.get('content-type')]).toEqual([200, 'application/octet-stream']);

    const set = await service.generate({ email: 'user@example.com' });
    const refreshed = await fetch(`${url}//v2/token/refresh`, {
      method: 'POST',
      body: set.refresh_token,
      headers: { origin: 'https://page.example' },
    });
    expect(refreshed.headers.get('content-type')).toBe('text/plain');
    expect(refreshed.headers.get('access-control-allow-origin')).toBe('https://page.example');
    expect(refreshed.headers.has('date')).toBe(true);
    const json = await openRefresh(await refreshed.text(), set.refresh_response_key);
    expect(JSON.parse(json).status).toBe('success');
  });

  const announced = (bytes: number) => ({ header: `Content-Length: ${bytes}`, pieces: [Buffer.alloc(bytes)] });
  const chunked = (bytes: number) => ({
    header: 'Transfer-Encoding: chunked',
    pieces: [`${bytes.toString(16)}\r\n`, Buffer.alloc(bytes), '\r\n0\r\n\r\n'],
  });
  test.each([
    ['announced', announced],
    ['streamed', chunked],
  ])(
    'reads the rest of an %s body that is too large, and answers the next request on the connection',
    async (_, bodyOf) => {
      const { header, pieces } = bodyOf(5_000_000);
      const { port } = await start(createTestService().operator, { port: 0 });
      let received = '';
      let isClosed = false;
      const socket = connect(port, '127.0.0.1');
      socket.on('data', (bytes) => {
        received += bytes;
      });
      socket.on('error', () => {});
      socket.on('close', () => (isClosed = true));
      const answers = () => received.match(/HTTP\/1\.1 \d+/g) ?? [];
      const body = Buffer.concat(pieces.map((piece) => Buffer.from(piece)));
      socket.write(`POST /v2/token/refresh HTTP/1.1\r\nHost: operator.test\r\n${header}\r\n\r\n`);
      socket.write(body.subarray(0, 2_000_000));
      await until(() => isClosed || answers().length > 0);
      socket.write(body.subarray(2_000_000));
      socket.write('GET /ops/healthcheck HTTP/1.1\r\nHost: operator.test\r\n\r\n');
      await until(() => isClosed || answers().length > 1);
      socket.destroy();
      expect(answers()).toEqual(['HTTP/1.1 413', 'HTTP/1.1 200']);
    },
  );

  test.each([
    ['Content-Length: 1000000000000', ''],
    ['Transfer-Encoding: chunked', 'fffffffff\r\n'],
  ])('disconnects a caller whose body does not end (%s)', async (header, firstBytes) => {
    const { port } = await start(createTestService().operator, { port: 0 });
    const socket = connect(port, '127.0.0.1');
    const closed = new Promise((resolve) => socket.once('close', resolve));
    const piece = Buffer.alloc(100_000);
    const send = () => {
      while (!socket.destroyed && socket.write(piece));
    };
    socket.on('drain', send);
    socket.on('error', () => {});
    socket.write(`POST /v2/token/refresh HTTP/1.1\r\nHost: operator.test\r\n${header}\r\n\r\n${firstBytes}`);
    send();
    await closed;
  });

  test('survives callers that disconnect, send no HTTP or send headers that are too large', async () => {
    const { url, port } = await start(createTestService().operator, { port: 0 });
    await new Promise<void>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => {
        socket.write('POST /v2/token/refresh HTTP/1.1\r\nHost: x\r\nContent-Length: 388\r\n\r\nAAAA');
        setTimeout(() => socket.destroy(), 20);
      });
      socket.on('close', () => resolve());
    });
    const answer = await new Promise<string>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => socket.write('nonsense\r\n\r\n'));
      socket.on('data', (bytes) => resolve(bytes.toString()));
    });
    expect(answer).toMatch(/^HTTP\/1\.1 400/);
    const headers = await new Promise<number>((resolve, reject) => {
      const headers = { 'x-long': 'x'.repeat(20_000) };
      httpRequest(`${url}/ops/healthcheck`, { headers }, (answer) => resolve(answer.statusCode!))
        .on('error', reject)
        .end();
    });
    expect(headers).toBe(431);
    expect((await fetch(`${url}/ops/healthcheck`)).status).toBe(200);
  });

  test.each([
    [
      'an announced body',
      'POST',
      'Content-Length: 46\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: operator.test\r\n\r\n',
      46,
    ],
    ['a streamed body', 'POST', 'Transfer-Encoding: chunked\r\n\r\n4\r\nAAAA\r\n0\r\n\r\n', 4],
    ['no body', 'GET', '\r\n', 0],
  ])('ignores offers of other protocols in pipelined requests with %s', async (_, method, rest, length) => {
    const operator = {
      fetch: async (request: Request) => new Response(`${request.url} ${(await request.text()).length};`),
    };
    const { port } = await start(operator, { port: 0 });
    const requestTo = (path: string) =>
      `${method} ${path} HTTP/1.1\r\nHost: operator.test\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAA\r\n${rest}`;
    const [first, second] = [requestTo('/1'), requestTo('/2')];
    const { socket, received } = await openConnection(port);
    onTestFinished(() => void socket.destroy());
    // Also in the middle of the second body or head.
    socket.write(first + second.slice(0, -2));
    await until(() => socket.bytesRead > 0);
    socket.write(second.slice(-2));
    socket.write('GET /3 HTTP/1.1\r\nHost: operator.test\r\nConnection: close\r\n\r\n');
    const answers = (await received).match(/HTTP\/1\.1 \d+|http:\S+ \d+;/g);
    expect(answers).toEqual([
      'HTTP/1.1 200',
      `http://operator.test/1 ${length};`,
      'HTTP/1.1 200',
      `http://operator.test/2 ${length};`,
      'HTTP/1.1 200',
      'http://operator.test/3 0;',
    ]);
  });

  test('closes a connection with more than 32 requests without an answer, and parses no more of them', async () => {
    const waiting: (() => void)[] = [];
    const operator = {
      fetch: () => new Promise<Response>((resolve) => void waiting.push(() => resolve(new Response()))),
    };
    const { port } = await start(operator, { port: 0 });
    let parsed = 0;
    const count = () => void parsed++;
    subscribe('http.server.request.start', count);
    onTestFinished(() => void unsubscribe('http.server.request.start', count));
    const request = 'GET /x HTTP/1.1\r\nHost: operator.test\r\n\r\n';
    const socket = connect(port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    socket.on('error', () => {});
    let received = '';
    socket.on('data', (bytes) => {
      received += bytes;
    });
    socket.write(request.repeat(32));
    await until(() => waiting.length === 32);
    for (const answer of waiting.splice(0, 31)) answer();
    await until(() => received.split('HTTP/1.1 200').length === 32);
    // With the one that still waits, 32.
    socket.write(request.repeat(31));
    await until(() => waiting.length === 32);
    const closed = once(socket, 'close');
    const before = parsed;
    socket.write(request.repeat(1000));
    await closed;
    expect([parsed - before, waiting.length]).toEqual([1, 32]);
  });

  test.each([
    ['with a body', 'POST /x HTTP/1.1\r\nHost: operator.test\r\nContent-Length: 1\r\n\r\nA'],
    [
      'with a streamed body',
      'POST /x HTTP/1.1\r\nHost: operator.test\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nA\r\n0\r\n\r\n',
    ],
    ['with an unknown Expect', 'GET /x HTTP/1.1\r\nHost: operator.test\r\nExpect: more\r\n\r\n'],
    ['without Host', 'GET /x HTTP/1.1\r\n\r\n'],
  ])('parses at most 33 requests of one packet %s, though they are answered at once', async (_, request) => {
    const { port } = await start({ fetch: async () => new Response() }, { port: 0 });
    let parsed = 0;
    const count = () => void parsed++;
    subscribe('http.server.request.start', count);
    onTestFinished(() => void unsubscribe('http.server.request.start', count));
    const { socket, received } = await openConnection(port);
    socket.write(request.repeat(500));
    await received;
    expect(parsed).toBe(33);
  });

  test('answers 400 to HTTP/1.1 without Host, and then closes the connection', async () => {
    const { port } = await start(recordAddresses().operator, { port: 0 });
    const { socket, received } = await openConnection(port);
    socket.write('GET /x HTTP/1.1\r\n\r\n');
    expect(await received).toMatch(/^HTTP\/1.1 400 .*connection: close/is);
  });

  test('ignores an unknown Expect', async () => {
    const { port } = await start(recordAddresses().operator, { port: 0 });
    const { socket, received } = await openConnection(port);
    socket.write('GET /x HTTP/1.1\r\nHost: operator.test\r\nConnection: close\r\nExpect: more\r\n\r\n');
    expect(await received).toMatch(/^HTTP\/1.1 200 /);
  });

  /** Send the start of a request; resolves with the answer and the seconds until the connection has ended. */
  const sendPart = (port: number, part: string) =>
    new Promise<{ answer: string; seconds: number }>((resolve) => {
      const startedAt = performance.now();
      let answer = '';
      const socket = connect(port, '127.0.0.1', () => socket.write(part));
      socket.on('data', (bytes) => {
        answer += bytes;
      });
      socket.on('error', () => {});
      socket.on('close', () => resolve({ answer, seconds: (performance.now() - startedAt) / 1000 }));
    });

  test('answers a health check of HTTP/1.0 without Host, as load balancers send it', async () => {
    const { port } = await start(createTestService().operator, { port: 0 });
    const { answer } = await sendPart(port, 'GET /ops/healthcheck HTTP/1.0\r\n\r\n');
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\nOK$/);
  });

  // Node's own interval of checks is 30 s.
  test.each([
    ['headers', 'headersTimeoutMs', 'POST /v2/token/refresh HTTP/1.1\r\nHost: x\r\n'],
    ['body', 'requestTimeoutMs', 'POST /v2/token/refresh HTTP/1.1\r\nHost: x\r\nContent-Length: 388\r\n\r\nAAAA'],
  ])('ends a request whose %s do not arrive in time', async (_, option, part) => {
    const { port } = await start(createTestService().operator, { port: 0, [option]: 300 });
    const { answer, seconds } = await sendPart(port, part);
    expect(answer).toMatch(/^HTTP\/1\.1 408/);
    expect(seconds).toBeLessThan(25);
  });

  test('closes connections beyond maxConnections at once, and keeps the others', async () => {
    const { port } = await start(createTestService().operator, { port: 0, maxConnections: 2 });
    const sockets = Array.from({ length: 2 }, () => connect(port, '127.0.0.1'));
    const ask = (socket: ReturnType<typeof connect>) =>
      new Promise<string>((resolve) => {
        socket.once('data', (bytes) => resolve(`${bytes}`.slice(0, 12)));
        socket.write('GET /ops/healthcheck HTTP/1.1\r\nHost: x\r\n\r\n');
      });
    for (const socket of sockets) expect(await ask(socket)).toBe('HTTP/1.1 200');
    expect((await sendPart(port, 'GET /ops/healthcheck HTTP/1.1\r\nHost: x\r\n\r\n')).answer).toBe('');
    for (const socket of sockets) expect(await ask(socket)).toBe('HTTP/1.1 200');
    for (const socket of sockets) socket.destroy();
  });

  test('gives the operator the address of the client, from the proxy only if it is trusted', async () => {
    const { seen, operator } = recordAddresses();
    const forwarded = (addresses: string) => ({ headers: { 'x-forwarded-for': addresses } });
    const { headers } = forwarded('198.51.100.1, 203.0.113.7');
    const [direct, proxied] = [
      await start(operator, { port: 0 }),
      await start(operator, { port: 0, trustProxy: true }),
    ];
    await fetch(direct.url, { headers });
    await fetch(proxied.url, { headers });
    await fetch(proxied.url);
    expect(seen).toEqual(['127.0.0.1', '203.0.113.7', '127.0.0.1']);
    seen.length = 0;
    for (const address of ['198.51.100.7:51234', '[2001:db8::1]:443', '[2001:db8::2]', '2001:db8::3'])
      await fetch(proxied.url, forwarded(`192.0.2.1, ${address}`));
    expect(seen).toEqual(['198.51.100.7', '2001:db8::1', '2001:db8::2', '2001:db8::3']);
  });

  test('a client that resets its connection does not escape the limit of an address', async () => {
    const { seen, operator } = recordAddresses();
    const { port } = await start(operator, { port: 0 });
    const socket = connect(port, '127.0.0.1', () => {
      socket.write('GET /ops/healthcheck HTTP/1.1\r\nHost: operator.test\r\n\r\n');
      socket.resetAndDestroy();
    });
    await until(() => seen.length === 1);
    expect(seen).not.toContain(undefined);
  });

  test.each([
    [{ headersTimeoutMs: 0 }, 'headersTimeoutMs: expected a whole number from 1 to 3600000, got 0'],
    [{ graceMs: Number.POSITIVE_INFINITY }, 'graceMs: expected a whole number from 0 to 3600000, got Infinity'],
    [{ graceMs: -1 }, 'graceMs: expected a whole number from 0 to 3600000, got -1'],
    [{ maxConnections: 1.5 }, 'maxConnections: expected a whole number from 1 to 1000000, got 1.5'],
  ])('refuses %j', async (options, message) => {
    await expect(listen(createTestService().operator, { port: 0, ...options })).rejects.toThrow(message);
  });

  test('tells the operator when an answer has been sent, and closes the connection of a slow reader', async () => {
    const outcomes: boolean[] = [];
    const operator = {
      fetch: async (request: Request, { sentWithin }: Caller) => {
        const limitMs = request.url.endsWith('/slow') ? 1 : 600_000;
        void sentWithin!(limitMs).then((isSent) => outcomes.push(isSent));
        return new Response(request.url.endsWith('/short') ? 'short' : new Uint8Array(20_000_000));
      },
    };
    const { url, port } = await start(operator, { port: 0 });
    expect(await (await fetch(`${url}/short`)).text()).toBe('short');
    await until(() => outcomes.length === 1);
    const ask = (path: string) => {
      const socket = connect(port, '127.0.0.1', () =>
        socket.write(`GET ${path} HTTP/1.1\r\nHost: operator.test\r\n\r\n`),
      );
      socket.on('error', () => {});
      onTestFinished(() => void socket.destroy());
      return socket;
    };
    const leaving = ask('/left');
    leaving.once('data', () => void leaving.destroy());
    await until(() => outcomes.length === 2);
    ask('/slow');
    await until(() => outcomes.length === 3);
    expect(outcomes).toEqual([true, true, false]);
  });

  test('rejects with the error of the port', async () => {
    const { port } = await start(createTestService().operator, { port: 0 });
    await expect(listen(createTestService().operator, { port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
    await expect(listen(createTestService().operator, { port: 70_000 })).rejects.toThrow(RangeError);
  });
});

describe('closing', () => {
  /** A grace period beyond the limit of a test: only the server's own care ends the connections. So is its keep-alive, 65 s. */
  const NEVER_MS = 600_000;

  const REQUEST = 'GET /ops/healthcheck HTTP/1.1\r\nHost: operator.test\r\n\r\n';

  const portClosed = ({ port }: Listening) => {
    const isRefused = () =>
      new Promise<boolean>((resolve) => {
        const socket = connect(port, '127.0.0.1', () => {
          socket.destroy();
          resolve(false);
        });
        socket.on('error', () => resolve(true));
      });
    return expect.poll(isRefused, { timeout: 30_000 }).toBe(true);
  };

  /** Create an operator that answers when the test calls `answer`. */
  const createSlowOperator = () => {
    let answer = (): void => {};
    let arrived = (): void => {};
    const held = new Promise<void>((resolve) => (answer = resolve));
    const came = new Promise<void>((resolve) => (arrived = resolve));
    const fetch = async () => {
      arrived();
      await held;
      return new Response('done');
    };
    return { fetch, came, answer: () => answer() };
  };

  test('answers requests in progress, accepts no new connection, and ends kept-alive connections', async () => {
    const operator = createSlowOperator();
    const listening = await start(operator, { port: 0, graceMs: NEVER_MS });
    const underWay = fetch(listening.url);
    await operator.came;
    const closed = listening.close();
    expect(listening.close()).toBe(closed);
    await portClosed(listening);
    operator.answer();
    const response = await underWay;
    expect([await response.text(), response.headers.get('connection')]).toEqual(['done', 'close']);
    await closed;
  });

  test('answers the request of a connection that has been made and not yet accepted', async () => {
    const listening = await start(createTestService().operator, { port: 0, graceMs: NEVER_MS });
    // The client runs in a thread of its own, and blocks this thread, which is the server's, until it has sent its request.
    const program = `
      const { parentPort, workerData } = require('node:worker_threads');
      const { sent, port, request } = workerData;
      const socket = require('node:net').connect(port, '127.0.0.1', () =>
        socket.write(request, () => {
          Atomics.store(sent, 0, 1);
          Atomics.notify(sent, 0);
        }),
      );
      socket.once('data', (bytes) => parentPort.postMessage(bytes.toString()));
      socket.once('error', ({ code }) => parentPort.postMessage(code));`;
    const sent = new Int32Array(new SharedArrayBuffer(4));
    const client = new Worker(program, { eval: true, workerData: { sent, port: listening.port, request: REQUEST } });
    const answer = once(client, 'message');
    Atomics.wait(sent, 0, 0);
    const closed = listening.close();
    expect(await answer).toEqual([expect.stringMatching(/^HTTP\/1\.1 200 .*connection: close/is)]);
    await Promise.all([closed, client.terminate()]);
  });

  test('closes a connection that never carried a request', async () => {
    const listening = await start(createTestService().operator, { port: 0, graceMs: NEVER_MS });
    const socket = connect(listening.port, '127.0.0.1');
    await new Promise((resolve) => socket.once('connect', resolve));
    // After an answer on another connection the server has accepted the idle one.
    await fetch(`${listening.url}/ops/healthcheck`);
    const ended = new Promise((resolve) => socket.once('close', resolve));
    await listening.close();
    await ended;
  });

  test('answers the first request on a connection that was opened before', async () => {
    const listening = await start(createTestService().operator, { port: 0, graceMs: NEVER_MS });
    const socket = connect(listening.port, '127.0.0.1');
    await new Promise((resolve) => socket.once('connect', resolve));
    await fetch(`${listening.url}/ops/healthcheck`);
    const closed = listening.close();
    const answer = new Promise<string>((resolve) => socket.once('data', (bytes) => resolve(bytes.toString())));
    socket.write('GET /ops/healthcheck HTTP/1.1\r\nHost: operator.test\r\n\r\n');
    expect(await answer).toMatch(/^HTTP\/1\.1 200 .*connection: close/is);
    await closed;
  });

  /** Open a connection; `received` resolves with everything that came before its end. */
  test('answers a request that has reached a kept-alive connection and is not yet read', async () => {
    const listening = await start(createTestService().operator, { port: 0, graceMs: NEVER_MS });
    const { socket, received } = await openConnection(listening.port);
    const answered = new Promise((resolve) => socket.once('data', resolve));
    socket.write(REQUEST);
    await answered;
    socket.write(REQUEST);
    await listening.close();
    const [first, second] = (await received).split('HTTP/1.1 ').slice(1);
    expect([first, second]).toEqual([
      expect.stringMatching(/^200 .*keep-alive/is),
      expect.stringMatching(/^200 .*connection: close/is),
    ]);
  });

  test('answers a request that came while the process was busy for longer than idle connections are kept', async () => {
    const listening = await start(createTestService().operator, { port: 0, graceMs: NEVER_MS });
    const { socket, received } = await openConnection(listening.port);
    const answered = new Promise((resolve) => socket.once('data', resolve));
    socket.write(REQUEST);
    await answered;
    const realSetTimeout = setTimeout;
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const closed = listening.close();
    await portClosed(listening);
    // Continue where timers run: before the reads of a turn of the event loop.
    await new Promise((resolve) => realSetTimeout(resolve));
    socket.write(REQUEST);
    // In the same turn as the write: the server has not read the request when its timer runs.
    vi.advanceTimersByTime(10_000);
    await closed;
    expect((await received).match(/HTTP\/1\.1 200/g)).toHaveLength(2);
  });

  test('ends kept-alive connections that send nothing', async () => {
    const listening = await start(createTestService().operator, { port: 0, graceMs: NEVER_MS });
    const { socket, received } = await openConnection(listening.port);
    const answered = new Promise((resolve) => socket.once('data', resolve));
    socket.write(REQUEST);
    await answered;
    await listening.close();
    expect((await received).match(/HTTP\/1\.1 200/g)).toHaveLength(1);
  });

  test('answers all requests that a client has sent at once on one connection', async () => {
    const waiting: (() => void)[] = [];
    let arrive = (): void => {};
    const arrived = new Promise<void>((resolve) => (arrive = resolve));
    const fetch = () =>
      new Promise<Response>((resolve) => {
        const answer = `answer ${waiting.length}`;
        waiting.push(() => resolve(new Response(answer)));
        if (waiting.length === 2) arrive();
      });
    const listening = await start({ fetch }, { port: 0, graceMs: NEVER_MS });
    const { socket, received } = await openConnection(listening.port);
    const firstAnswer = new Promise((resolve) => socket.once('data', resolve));
    socket.write(REQUEST + REQUEST);
    await arrived;
    const closed = listening.close();
    await portClosed(listening);
    waiting[0]!();
    await firstAnswer;
    waiting[1]!();
    await closed;
    expect((await received).match(/answer \d|connection: [\w-]+/gi)).toEqual([
      'Connection: keep-alive',
      'answer 0',
      expect.stringMatching(/^connection: close$/i),
      'answer 1',
    ]);
  });

  test('closes connections whose requests take longer than graceMs', async () => {
    const operator = createSlowOperator();
    const listening = await start(operator, { port: 0, graceMs: 20 });
    const underWay = fetch(listening.url);
    const failed = expect(underWay).rejects.toThrow();
    await operator.came;
    await listening.close();
    await failed;
  });

  test('closes a connection whose upgrade waits for a request that takes longer than graceMs', async () => {
    const operator = createSlowOperator();
    const listening = await start(operator, { port: 0, graceMs: 20 });
    const { socket, received } = await openConnection(listening.port);
    socket.write(REQUEST + REQUEST.replace('\r\n\r\n', '\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n'));
    await operator.came;
    await listening.close();
    expect(await received).toBe('');
  });
});
