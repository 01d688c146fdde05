import { serve } from '@hono/node-server';
import { serveStatic } from '@hono/node-server/serve-static';
import { app } from './app.ts';

app.use('/tessera.js', serveStatic({ path: 'node_modules/tessera-id/dist/tessera.js' }));
serve({ fetch: app.fetch, hostname: '127.0.0.1', port: Number(process.env['PORT'] ?? 3000) }, ({ port }) =>
  console.log(`http://127.0.0.1:${port}`),
);
