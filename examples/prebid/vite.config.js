import { defineConfig } from 'vite';

// The token handler is on another server during development: see ../express or ../hono. In production it is on the page's origin.
export default defineConfig({ server: { proxy: { '/token': 'http://127.0.0.1:3000' } } });
