/**
 * A program: a mapping service that answers at once, and says of one DII in a hundred that its raw ID holds no longer.
 * Stored mappings have that many due, then, as soon as all are mapped.
 */

import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { say } from './child.ts';

const MOST = 5_000;
const AES = 'aes-256-gcm';
const HEADER = 13;
const TAG = 16;

const secret = randomBytes(32);
const now = Math.floor(Date.now() / 1000);
const results = Array.from({ length: MOST }, (_, i) =>
  JSON.stringify({
    u: randomBytes(32).toString('base64'),
    p: i % 4 ? null : randomBytes(32).toString('base64'),
    r: i % 100 ? now + 86_400 + i : now,
  }),
);

/** The answer to a request of some hashes. */
const answerTo = (request: Buffer): Buffer[] => {
  const opened = createDecipheriv(AES, secret, request.subarray(1, HEADER)).update(request.subarray(HEADER, -TAG));
  const { email_hash } = JSON.parse(opened.toString('latin1', 16)) as { email_hash: unknown[] };
  const head = Buffer.from(opened.subarray(0, 16));
  head.writeBigInt64BE(BigInt(Date.now()), 0);
  const iv = randomBytes(12);
  const cipher = createCipheriv(AES, secret, iv);
  const json = `{"body":{"email_hash":[${results.slice(0, email_hash.length).join()}]},"status":"success"}`;
  const sealed = [iv, cipher.update(head), cipher.update(json, 'latin1'), cipher.final()];
  return [...sealed, cipher.getAuthTag()];
};

const server = createServer((request, response) => {
  const pieces: Buffer[] = [];
  request.on('data', (piece: Buffer) => pieces.push(piece));
  request.on('end', () => {
    const answer = Buffer.concat(answerTo(Buffer.concat(pieces)));
    response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': answer.length });
    response.end(answer);
  });
});
server.listen(0, '127.0.0.1', () =>
  say({
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    apiKey: 'bench',
    clientSecret: secret.toString('base64'),
  }),
);
