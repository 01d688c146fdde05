/**
 * The advertiser's server of the demo: maps the lines of a file into its own store (PGlite in a temporary folder), reports what
 * is due, and maps that again. Email addresses exist only in the request that contains them; the store contains hashes.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Hono } from 'hono';
import { streamSSE } from 'hono/streaming';
import { createMappings, type DueOptions, type Mappings, type Summary } from '../src/mapping/index.ts';
import type { Client } from '../src/server/index.ts';
import { isTokenError, TokenError } from '../src/token/index.ts';
import type { World } from './world.ts';

const MAX_LINES = 200_000;

/** Return the email addresses in a file: those in the column `email`, or in the first column if there is no header. */
function addressesIn(text: string): string[] {
  const rows = text.split(/\r?\n/).filter((line) => line.trim());
  const cells = (row: string) => row.split(/[,;\t]/).map((cell) => cell.trim().replace(/^"|"$/g, ''));
  const heading = cells(rows[0] ?? '').map((name) => name.toLowerCase());
  const column = Math.max(0, heading.indexOf('email'));
  const isHeading = !heading[column]?.includes('@');
  return rows.slice(isHeading ? 1 : 0).map((row) => cells(row)[column] ?? '');
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

  /** Run a job, and stream its progress. */
  const run =
    (work: (mappings: Mappings, options: DueOptions) => Promise<Summary>) => (c: Parameters<typeof streamSSE>[0]) =>
      streamSSE(c, async (stream) => {
        const send = (event: object) => stream.writeSSE({ data: JSON.stringify(event) });
        try {
          const store = await mappings();
          const summary = await work(store, { onProgress: (progress) => void send({ progress }) });
          await send({ summary, counts: await countsOf(store) });
        } catch (error) {
          await send({ problem: error instanceof Error ? error.message : 'The job failed.' });
        }
      });

  app.post('/map', async (c) => {
    const addresses = addressesIn(await c.req.text());
    if (addresses.length > MAX_LINES) return c.json({ message: `The demo accepts at most ${MAX_LINES} lines.` }, 400);
    if (!addresses.length) return c.json({ message: 'The file is empty.' }, 400);
    // region map
    return run((store, options) =>
      store.map(
        addresses.map((email) => ({ email })),
        options,
      ),
    )(c);
    // endregion
  });
  // region due
  app.post(
    '/due',
    run((store, options) => store.mapDue(options)),
  );
  // endregion
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
