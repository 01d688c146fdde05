/**
 * A program: a mapping service that answers at once. Every batch of full size gets the same results, sealed for the
 * request that asked, so that the time a client takes is the client's own.
 */

import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { say } from './child.ts';

const BATCH = 5_000;
const AES = 'aes-256-gcm';

const secret = randomBytes(32);
const remapAt = Math.floor(Date.now() / 1000) + 86_400;
// As the operator answers: one ID in four still has one before it.
const results = Array.from({ length: BATCH }, (_, i) => ({
  u: randomBytes(32).toString('base64'),
  p: i % 4 ? null : randomBytes(32).toString('base64'),
  r: remapAt + i,
}));
const json = Buffer.from(JSON.stringify({ body: { email_hash: results }, status: 'success' }));

/** Seal the answer to a request: only the nonce of the request is looked at. */
const answerTo = (request: Buffer): Buffer[] => {
  const head = createDecipheriv(AES, secret, request.subarray(1, 13)).update(request.subarray(13, 29));
  head.writeBigInt64BE(BigInt(Date.now()), 0);
  const iv = randomBytes(12);
  const cipher = createCipheriv(AES, secret, iv);
  const sealed = [iv, cipher.update(head), cipher.update(json), cipher.final()];
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
