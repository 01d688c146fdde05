/** A service with `/v3/identity/map` that answers at once, in as few steps as possible: it opens, answers and seals. */

import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { report } from './child.ts';

const AES = 'aes-256-gcm';
const HEADER = 13;
const TAG = 16;
/** Time and nonce, before the JSON. */
const HEAD = 16;

/** Results for as many hashes as a batch has; one in four has a previous raw ID. */
export const resultsOf = (count: number, remapAt: (index: number) => number) =>
  Array.from({ length: count }, (_, i) => ({
    u: randomBytes(32).toString('base64'),
    p: i % 4 ? null : randomBytes(32).toString('base64'),
    r: remapAt(i),
  }));

/**
 * Listen, and report the address to the parent process.
 *
 * @param answerTo  receives a function that opens the JSON of the request, and returns the JSON of the answer.
 */
export const serveSealed = (answerTo: (open: () => string) => string | Buffer): void => {
  const secret = randomBytes(32);
  const sealedAnswer = (request: Buffer): Buffer => {
    const opening = createDecipheriv(AES, secret, request.subarray(1, HEADER));
    const head = opening.update(request.subarray(HEADER, HEADER + HEAD));
    const json = answerTo(() => opening.update(request.subarray(HEADER + HEAD, -TAG)).toString('latin1'));
    head.writeBigInt64BE(BigInt(Date.now()), 0);
    const iv = randomBytes(12);
    const cipher = createCipheriv(AES, secret, iv);
    const sealed =
      typeof json === 'string'
        ? [cipher.update(head), cipher.update(json, 'latin1')]
        : [cipher.update(head), cipher.update(json)];
    return Buffer.concat([iv, ...sealed, cipher.final(), cipher.getAuthTag()]);
  };
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const answer = sealedAnswer(Buffer.concat(pieces));
      response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': answer.length });
      response.end(answer);
    });
  });
  server.listen(0, '127.0.0.1', () =>
    report({
      baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      apiKey: 'bench',
      clientSecret: secret.toString('base64'),
    }),
  );
};
