/** A real operator behind a port, and the command line beside it: for the verbs that read files and keep mappings. */

import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { addAbortSignal, PassThrough } from 'node:stream';
import { run } from '../../src/cli/program.ts';
import { createOperator } from '../../src/operator/index.ts';
import { listen } from '../../src/operator/node.ts';
import { type Client, createClient } from '../../src/server/index.ts';
import { freshPlace } from '../database/places.ts';
import { PASSWORD } from '../database/postgres-server.ts';

export const SECRET = Buffer.alloc(32, 7).toString('base64');

/** What a command line is given. */
export interface Given {
  readonly env?: Record<string, string>;
  readonly stdin?: Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>;
  readonly stopped?: Promise<void>;
  /** Standard error is a terminal: what was drawn is in `drawn`. */
  readonly terminal?: boolean;
  readonly outIsTerminal?: boolean;
}

/** Run a command line. */
export const tessera = async (args: readonly string[], given: Given = {}) => {
  const out: string[] = [];
  const err: string[] = [];
  let drawn = '';
  const terminal = Object.assign(new PassThrough(), { isTTY: true, columns: 100 });
  terminal.on('data', (piece) => {
    drawn += piece;
  });
  const code = await run(args, {
    env: given.env ?? {},
    stdin: (signal) => {
      const stream = new PassThrough();
      if (signal) addAbortSignal(signal, stream);
      (async () => {
        for await (const piece of given.stdin ?? []) if (!stream.write(piece)) await once(stream, 'drain');
        stream.end();
        // What nobody reads any more fails, and is nobody's business.
      })().catch(() => {});
      return stream;
    },
    out: (line) => out.push(line),
    err: (line) => err.push(line),
    flushed: async () => {},
    stopped: () => given.stopped ?? new Promise(() => {}),
    terminal: given.terminal ? (terminal as unknown as NodeJS.WriteStream) : undefined,
    outIsTerminal: given.outIsTerminal,
  });
  return { code, out, err: err.join('\n'), drawn };
};

export interface Fixture {
  readonly env: Record<string, string>;
  readonly client: Client;
  /** Paths that were asked for since the last look. */
  asked(): string[];
  /** Answers in the place of the operator while it is set. */
  answer: ((request: Request) => Promise<Response> | Response) | undefined;
  /** A name in a folder of this fixture. */
  path(name: string): string;
  /** Write a file. */
  file(name: string, content: string | Uint8Array): Promise<string>;
  /** The text of a file; undefined where there is none. */
  text(path: string): Promise<string | undefined>;
  /** A place for mappings in which nothing is yet, on PostgreSQL. */
  database(): Promise<string>;
  /** A folder for them. */
  databaseFolder(): Promise<string>;
  close(): Promise<void>;
}

export const createFixture = async (): Promise<Fixture> => {
  const folder = await mkdtemp(join(tmpdir(), 'tessera-map-'));
  const operator = createOperator({
    rootSecret: SECRET,
    apiKey: 'key-of-all',
    clientSecret: SECRET,
    // Looked up at each call: a test may put another clock in its place.
    now: () => Date.now(),
  });
  let asked: string[] = [];
  const listening = await listen(
    {
      fetch: async (request) => {
        asked.push(new URL(request.url).pathname);
        return fixture.answer?.(request) ?? operator.fetch(request);
      },
    },
    { port: 0 },
  );
  // As people are told to do it: the password in the environment.
  process.env['PGPASSWORD'] = PASSWORD;
  const fixture: Fixture = {
    env: { TESSERA_BASE_URL: listening.url, TESSERA_API_KEY: 'key-of-all', TESSERA_CLIENT_SECRET: SECRET },
    client: createClient({ baseUrl: listening.url, apiKey: 'key-of-all', clientSecret: SECRET, now: () => Date.now() }),
    asked: () => {
      const paths = asked;
      asked = [];
      return paths;
    },
    answer: undefined,
    path: (name) => join(folder, name),
    file: async (name, content) => {
      await writeFile(join(folder, name), content);
      return join(folder, name);
    },
    text: (path) => readFile(path, 'utf8').catch(() => undefined),
    database: async () => (await freshPlace('postgres')).replace(`:${PASSWORD}@`, '@'),
    databaseFolder: () => freshPlace('pglite'),
    close: async () => {
      await listening.close();
      await operator.close();
      await rm(folder, { recursive: true });
    },
  };
  return fixture;
};
