/**
 * A program: a bare Hono route on the same Node server, which sends the request body back. With the argument `aes`, it also
 * encrypts as often as a refresh encrypts or decrypts: five times.
 */

import { createCipheriv, randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { report } from './child.ts';

const PATH = '/echo';
const CONTEXTS = process.argv[2] === 'aes' ? 5 : 0;
const key = randomBytes(32);
/** One IV for all: drawing IVs is not what is compared. */
const iv = randomBytes(12);

const app = new Hono();
app.post(PATH, async (c) => {
  const text = await c.req.text();
  const bytes = Buffer.from(text, 'base64');
  for (let done = 0; done < CONTEXTS; done++) {
    const cipher = createCipheriv('aes-256-gcm', key, iv);
    cipher.update(bytes);
    cipher.final();
    cipher.getAuthTag();
  }
  return c.body(text);
});
serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }: AddressInfo) => report({ port, path: PATH }));
