/** The routes for the dashboard's controls: read and change the setting, stream the events, and start over. */

import { Hono } from 'hono';
import { streamSSE } from 'hono/streaming';
import { parseSetting, type World } from './world.ts';

/** Create the routes of the dashboard. */
export function createControls(world: World): Hono {
  const app = new Hono();
  app.get('/setting', (c) => c.json(world.setting()));
  app.post('/setting', async (c) => {
    world.change(parseSetting(await c.req.json()));
    return c.json(world.setting());
  });
  app.post('/restart', (c) => {
    world.restart();
    return c.body(null, 204);
  });
  app.post('/start-over', (c) => {
    world.startOver();
    return c.body(null, 204);
  });
  app.get('/events', (c) =>
    streamSSE(c, async (stream) => {
      const send = (event: object) => stream.writeSSE({ data: JSON.stringify(event) });
      // All at once, so that nothing happens between what is sent again and what is heard.
      for (const request of world.log()) void send({ type: 'request', request });
      for (const view of world.views()) void send({ type: 'view', view });
      const stop = world.on((event) => void send(event));
      await new Promise<void>((resolve) => stream.onAbort(resolve));
      stop();
    }),
  );
  return app;
}
