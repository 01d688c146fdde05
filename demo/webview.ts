/**
 * The Kotlin host for the webview page: one JVM for each open page, which it leaves with its event stream. The app is compiled when the
 * page is opened first.
 */

import { Hono } from 'hono';
import { streamSSE } from 'hono/streaming';
import { compileApp, missingForApp, runApp } from './android.ts';

/** The commands of `Rig.kt` that a page may send. */
const COMMANDS = ['store', 'start', 'open', 'message', 'signedIn', 'renew', 'signedOut'];

/**
 * Create the routes: `GET /app` streams what the app of a page says, after `{ id }`, or `{ missing }` if there can be none;
 * `POST /app/:id` carries out a command.
 *
 * @param baseUrl  the operator.
 */
export function createWebviewApp(baseUrl: string) {
  const apps = new Map<string, ReturnType<typeof runApp>>();
  let classes: Promise<string> | undefined;
  const app = new Hono();

  app.get('/app', (c) => {
    // A page of another site could start one app after the other.
    if (!['same-origin', undefined].includes(c.req.header('sec-fetch-site'))) return c.body(null, 403);
    return streamSSE(c, async (stream) => {
      const send = (event: object) => stream.writeSSE({ data: JSON.stringify(event) });
      const left = new Promise<void>((resolve) => stream.onAbort(resolve));
      const missing = missingForApp();
      if (missing) return void (await send({ missing: `it needs ${missing}` }));
      // A connection without data is closed after two minutes: a busy machine compiles longer.
      const beat = setInterval(() => void send({}), 30_000);
      const found = await (classes ??= compileApp()).catch((error: Error) => {
        console.error(error.message);
        classes = undefined;
      });
      clearInterval(beat);
      if (!found) return void (await send({ missing: 'it could not be compiled' }));
      if (stream.aborted) return;
      const id = crypto.randomUUID();
      const running = runApp(found, (said) => void send(said));
      apps.set(id, running);
      await send({ id });
      await left;
      apps.delete(id);
      await running.stop();
    });
  });
  app.post('/app/:id', async (c) => {
    const { do: command, ...more } = await c.req.json<{ do: string }>();
    const running = apps.get(c.req.param('id'));
    if (!running || !COMMANDS.includes(command)) return c.body(null, 404);
    await running.call(command, { ...more, baseUrl });
    return c.body(null, 204);
  });
  return {
    routes: app,
    close: async (): Promise<void> => {
      await Promise.all([...apps.values()].map(({ stop }) => stop()));
    },
  };
}
