/** A real operator on a port, and a command line that uses it: for the commands that read files and store mappings. */

import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { addAbortSignal, PassThrough } from 'node:stream';
import { run } from '../../src/cli/program.ts';
import { createOperator } from '../../src/operator/index.ts';
import { listen } from '../../src/operator/node.ts';
import { type Client, createClient } from '../../src/server/index.ts';
import { freshLocation } from '../database/locations.ts';
import { PASSWORD } from '../database/postgres-server.ts';

export const SECRET = Buffer.alloc(32, 7).toString('base64');

export interface Given {
  readonly env?: Record<string, string>;
  readonly stdin?: Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>;
  readonly stopped?: Promise<void>;
  /** Standard error is a terminal; `drawn` holds its output. */
  readonly terminal?: boolean;
  readonly outIsTerminal?: boolean;
  /** Answers questions; none without a terminal. */
  readonly ask?: (question: string) => Promise<boolean>;
}

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
        // Writing fails if the command has stopped reading.
      })().catch(() => {});
      return stream;
    },
    out: (line) => out.push(line),
    data: (lines) => out.push(...lines.split(/(?<=\n)/)),
    err: (line) => err.push(line),
    flushed: async () => {},
    stopped: () => given.stopped ?? new Promise(() => {}),
    terminal: given.terminal ? (terminal as unknown as NodeJS.WriteStream) : undefined,
    outIsTerminal: given.outIsTerminal,
    ask: given.ask,
  });
  return { code, out, err: err.join('\n'), drawn };
};

export interface Fixture {
  readonly env: Record<string, string>;
  readonly client: Client;
  asked(): string[];
  /** While set, answers in place of the operator. */
  answer: ((request: Request) => Promise<Response> | Response) | undefined;
  /** While `at` is set, the time of the operator, epoch ms; otherwise the clock of this process. */
  readonly clock: { at: number | undefined };
  path(name: string): string;
  file(name: string, content: string | Uint8Array): Promise<string>;
  /** The text of a file; undefined if it does not exist. */
  text(path: string): Promise<string | undefined>;
  database(): Promise<string>;
  databaseFolder(): Promise<string>;
  close(): Promise<void>;
}

export const createFixture = async (): Promise<Fixture> => {
  const folder = await mkdtemp(join(tmpdir(), 'tessera-map-'));
  const clock: Fixture['clock'] = { at: undefined };
  const operator = createOperator({
    rootSecret: SECRET,
    apiKey: 'key-of-all',
    clientSecret: SECRET,
    roles: ['GENERATOR', 'MAPPER', 'OPTOUT'],
    // Read at each call: a test may replace the clock.
    now: () => clock.at ?? Date.now(),
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
  // The password comes from the environment, as the documentation recommends.
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
    clock,
    path: (name) => join(folder, name),
    file: async (name, content) => {
      await writeFile(join(folder, name), content);
      return join(folder, name);
    },
    text: (path) => readFile(path, 'utf8').catch(() => undefined),
    database: async () => (await freshLocation('postgres')).replace(`:${PASSWORD}@`, '@'),
    databaseFolder: () => freshLocation('pglite'),
    close: async () => {
      await listening.close();
      await operator.close();
      await rm(folder, { recursive: true });
    },
  };
  return fixture;
};
