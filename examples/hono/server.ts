import { serve } from '@hono/node-server';
import { serveStatic } from '@hono/node-server/serve-static';
import { app } from './app.ts';

// While developing, the file that says in the console what is wrong.
const script = process.env['NODE_ENV'] === 'production' ? 'tessera.js' : 'tessera.dev.js';
app.use('/tessera.js', serveStatic({ path: `node_modules/tessera-id/dist/${script}` }));
serve({ fetch: app.fetch, hostname: '127.0.0.1', port: Number(process.env['PORT'] ?? 3000) }, ({ port }) =>
  console.log(`http://127.0.0.1:${port}`),
);
