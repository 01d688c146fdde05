/** A program: a bare Hono route on the same Node server, which sends the request body back. */

import type { AddressInfo } from 'node:net';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { report } from './child.ts';

const PATH = '/echo';

const app = new Hono();
app.post(PATH, async (c) => c.body(await c.req.text()));
serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }: AddressInfo) => report({ port, path: PATH }));
