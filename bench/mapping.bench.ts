/**
 * How much of mapping is hashing: `POST /v3/identity/map` of 5,000 hashes through `operator.fetch`, sealed request in and
 * sealed answer out, compared with the hashing and salting of the same 5,000 alone, with the same hash library.
 *
 * The bare side knows in advance in which rotation each bucket is. Its result is compared with the answer of the operator.
 */

import assert from 'node:assert/strict';
import { extract } from '@noble/hashes/hkdf.js';
import { hmac } from '@noble/hashes/hmac.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { createSecrets } from '../src/operator/crypto/secrets.ts';
import { createSalts } from '../src/operator/identity/salts.ts';
import { aesKey } from '../src/token/cipher.ts';
import { openResponse, sealRequest } from '../src/token/index.ts';
import { compare, figure, type Measurement, timed } from './measure.ts';
import { builtOperator } from './support/built.ts';

const COUNT = 5_000;
const ROOT = new Uint8Array(32).fill(7);
const PLACE = ['integration', 'UID2'] as const;

const ascii = (text: string): Uint8Array => Buffer.from(text, 'latin1');
const b64 = (bytes: Uint8Array): string => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64');

const HASHES = Array.from({ length: COUNT }, (_, i) => b64(sha256(ascii(`user-${i}@example.com`))));

/** The side of the operator: bytes of a request in, bytes of the answer out. */
const startOperator = async () => {
  const { createOperator } = await builtOperator();
  const operator = createOperator({ rootSecret: ROOT, environment: PLACE[0], scope: PLACE[1], roles: ['MAPPER'] });
  const [{ apiKey, clientSecret }] = operator.participants as [(typeof operator.participants)[0]];
  const key = await aesKey(Uint8Array.from(Buffer.from(clientSecret, 'base64')));
  const json = JSON.stringify({ email_hash: HASHES });
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/octet-stream' };
  const body = await sealRequest(key, { at: Date.now(), nonce: new Uint8Array(8), json });
  return {
    map: async (): Promise<Uint8Array<ArrayBuffer>> => {
      const response = await operator.fetch(
        new Request('http://localhost/v3/identity/map', { method: 'POST', headers, body }),
      );
      assert.equal(response.status, 200);
      return new Uint8Array(await response.arrayBuffer());
    },
    read: async (answer: Uint8Array<ArrayBuffer>) =>
      (
        JSON.parse((await openResponse(key, answer)).json) as {
          body: { email_hash: { u: string; p: string | null }[] };
        }
      ).body.email_hash,
  };
};

/** The bare side: one loop of hashing, salting, and the base64 that is hashed. */
const bareLoop = () => {
  const secrets = createSecrets(ROOT, ...PLACE);
  const salts = createSalts(secrets, 31_536_000);
  const firstSalt = b64(secrets.derive('first-level-salt'));
  const keyed = hmac.create(sha256, extract(sha256, ROOT, ascii(`tessera/1/${PLACE.join('/')}`)));
  // As in the operator: copying a prepared hash state into another costs less than creating one.
  const keyedState = keyed.clone();
  const begun = sha256.create();
  const state = sha256.create();
  const sha = (bytes: Uint8Array) => begun._cloneInto(state).update(bytes).digest();
  const now = Date.now();
  const rotations = HASHES.map((hash) => {
    const first = sha256(ascii(hash + firstSalt));
    return salts.rotation((first[0]! << 12) | (first[1]! << 4) | (first[2]! & 15), now);
  });
  return (): { u: string; p: string | null }[] => {
    const mapped: { u: string; p: string | null }[] = [];
    for (let i = 0; i < COUNT; i++) {
      const { number, showsPrevious } = rotations[i]!;
      const first = sha(ascii(HASHES[i]! + firstSalt));
      const bucket = (first[0]! << 12) | (first[1]! << 4) | (first[2]! & 15);
      const text = b64(first);
      let salt = keyed
        ._cloneInto(keyedState)
        .update(ascii(`bucket/${bucket}/${number}\x01`))
        .digest();
      const u = b64(sha(ascii(text + b64(salt))));
      let p: string | null = null;
      if (showsPrevious) {
        salt = keyed
          ._cloneInto(keyedState)
          .update(ascii(`bucket/${bucket}/${number - 1}\x01`))
          .digest();
        p = b64(sha(ascii(text + b64(salt))));
      }
      mapped.push({ u, p });
    }
    return mapped;
  };
};

export const measure = async (): Promise<Measurement[]> => {
  const { map, read } = await startOperator();
  const bare = bareLoop();
  const answer = await read(await map());
  assert.deepEqual(
    answer.map(({ u, p }) => ({ u, p })),
    bare(),
  );

  const { ours, peer, ratio } = await compare(
    { rounds: 25, warmUp: 8 },
    async () => (COUNT / (await timed(map))) * 1000,
    async () => (COUNT / (await timed(bare))) * 1000,
  );
  return [
    {
      what: `v3/identity/map of ${figure(COUNT)} hashes, of the speed of bare hashing`,
      value: ratio,
      unit: 'x',
      limit: { atLeast: 0.6 },
      beside: `${figure(ours)} hashes/s; bare ${figure(peer)}`,
    },
  ];
};
