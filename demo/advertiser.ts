/**
 * The advertiser's server of the demo: maps the rows of a file into its own store (PGlite in a temporary folder), reports what
 * is due, and maps that again. It reads a file as `tessera map` does. Email addresses and phone numbers exist only in the request
 * that contains them; the store contains hashes.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { streamSSE } from 'hono/streaming';
import { type InvalidRow, openDiiRows } from '../src/cli/input/dii-rows.ts';
import { decodeText } from '../src/cli/input/input.ts';
import { createMappings, type Mappings, type Summary } from '../src/mapping/index.ts';
import type { Client, Dii } from '../src/server/index.ts';
import { isTokenError, TokenError } from '../src/token/index.ts';
import type { World } from './world.ts';

const MAX_BYTES = 20_000_000;
const PIECE_CHARACTERS = 65_536;
/** A file is read as by the command, whose options this page does not have. */
const REMEDY =
  'This page has no such options: name the column email, phone, email_hash or phone_hash, or use "tessera map".';

/** Open the rows of a file. Throws a RangeError for what is no CSV file, or has no column that can be chosen. */
async function openFile(bytes: Uint8Array) {
  const text = decodeText(bytes, 'the file');
  let read = 0;
  async function* pieces() {
    for (; read < text.length; read += PIECE_CHARACTERS) yield text.slice(read, read + PIECE_CHARACTERS);
  }
  const input = { name: 'the file', totalBytes: undefined, readBytes: 0, pieces: pieces() };
  const { all, fault } = await openDiiRows(input, {});
  if (fault) throw new RangeError(fault);
  return { rows: all, progress: () => Math.min(1, read / text.length) };
}

/** The DII of the valid rows. The others go to `onInvalid`. */
async function* validIn(rows: AsyncIterable<readonly (Dii | InvalidRow)[]>, onInvalid: (row: InvalidRow) => void) {
  for await (const some of rows)
    for (const row of some)
      if ('reason' in row) onInvalid(row);
      else yield row;
}

/** Return the counts by state, and how many raw IDs have rotated in the last 90 days. */
async function countsOf(store: Mappings) {
  let rotated = 0;
  for await (const { previousRawId } of store.entries({ state: 'mapped' })) if (previousRawId !== null) rotated++;
  return { ...(await store.counts()), rotated };
}

/** Create the routes. The store is created at the first request for it, because PGlite takes some seconds to start. */
export function createAdvertiser(client: Client, world: World) {
  let folder: string | undefined;
  let opening: Promise<Mappings> | undefined;
  const open = async (): Promise<Mappings> => {
    folder = await mkdtemp(join(tmpdir(), 'tessera-demo-'));
    return createMappings({ client, database: folder, now: world.now }).catch((error) => {
      if (!isTokenError(error)) throw error;
      // Without PGlite, the message says what to install. Node does not repeat a failed import in the same process.
      const isMissing = error.message.includes('npm install');
      throw isMissing ? new TokenError(error.code, `${error.message}; then restart the demo`, { cause: error }) : error;
    });
  };
  const mappings = () => (opening ??= open());
  const app = new Hono();

  /** Run a job, and stream its progress, from 0 to 1. */
  const run = (c: Context, work: (store: Mappings, send: (event: object) => Promise<void>) => Promise<Summary>) =>
    streamSSE(c, async (stream) => {
      const send = (event: object) => stream.writeSSE({ data: JSON.stringify(event) });
      try {
        const store = await mappings();
        const summary = await work(store, send);
        await send({ summary, counts: await countsOf(store) });
      } catch (error) {
        await send({ problem: error instanceof Error ? error.message : 'The job failed.' });
      }
    });

  const tooLarge = (c: Context) =>
    c.json({ message: 'The demo accepts at most 20 MB. The command "tessera map" has no limit.' }, 413);
  app.post('/map', bodyLimit({ maxSize: MAX_BYTES, onError: tooLarge }), async (c) => {
    const bytes = new Uint8Array(await c.req.arrayBuffer());
    let file: Awaited<ReturnType<typeof openFile>>;
    try {
      file = await openFile(bytes);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      const { message } = error;
      return c.json({ message: message.includes('--') ? `${message}. ${REMEDY}` : message }, 400);
    }
    return run(c, async (store, send) => {
      // Why rows are not valid -> how many, and the line of the first, if it is known.
      const invalid = new Map<string, { count: number; readonly line: number | undefined }>();
      const addInvalid = ({ reason, line }: { reason: string; line?: number }) => {
        const known = invalid.get(reason);
        if (known) known.count++;
        else invalid.set(reason, { count: 1, line });
      };
      // region map
      const summary = await store.map(validIn(file.rows, addInvalid), {
        onInvalid: addInvalid,
        onProgress: () => void send({ progress: file.progress() }),
      });
      // endregion
      const reasons = [...invalid].map(([reason, found]) => ({ reason, ...found }));
      await send({ reasons });
      return { ...summary, invalid: reasons.reduce((sum, { count }) => sum + count, 0) };
    });
  });
  app.post('/due', (c) =>
    run(c, (store, send) => {
      // region due
      return store.mapDue({
        onProgress: ({ mapped, optedOut, invalid, total = 1 }) =>
          void send({ progress: (mapped + optedOut + invalid) / total }),
      });
      // endregion
    }),
  );
  app.get('/counts', async (c) => {
    try {
      return c.json(await countsOf(await mappings()));
    } catch (error) {
      // PGlite is not installed, or the demo is being stopped.
      if (isTokenError(error)) return c.json({ message: error.message }, 503);
      throw error;
    }
  });
  return {
    routes: app,
    close: async () => {
      const store = await opening?.catch(() => undefined);
      await store?.close();
      if (folder) await rm(folder, { recursive: true, force: true });
    },
  };
}
