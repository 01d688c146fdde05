/**
 * The speed of `tessera map FILE --out FILE`, compared with the shortest program for the same file: it reads lines, maps them through
 * `mapIdentities` and writes each row, without quotes, column names or checks. The service answers at once and runs in its own
 * process.
 */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { silentIo } from '../build/silent-io.ts';
import { run } from '../src/cli/program.ts';
import { compare, figure, type Measurement, timed } from './measure.ts';
import { builtServer } from './support/built.ts';
import { start } from './support/child.ts';

const ROWS = 200_000;
const WORKERS = 4;

interface Service {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly clientSecret: string;
}

const addressAt = (i: number) => `user-${i}@example.com`;

export const measure = async (): Promise<Measurement[]> => {
  const { message, stop } = await start<Service>('due-service.ts');
  const folder = await mkdtemp(join(tmpdir(), 'tessera-out-'));
  try {
    const path = join(folder, 'people.csv');
    const lines = Array.from({ length: ROWS }, (_, i) => `${i},${addressAt(i)},2026-01-01,"a, b"\n`);
    await writeFile(path, `id,email,since,note\n${lines.join('')}`);
    const env = {
      TESSERA_BASE_URL: message.baseUrl,
      TESSERA_API_KEY: message.apiKey,
      TESSERA_CLIENT_SECRET: message.clientSecret,
    };
    let said = '';
    const io = {
      ...silentIo,
      env,
      out: (line: string) => void (said = line),
      err: (line: string) => void (said = line),
    };
    const args = ['map', path, '--json', '--workers', `${WORKERS}`, '--out', join(folder, 'mapped.csv')];
    const toFile = async () => {
      assert.equal(await run(args, { ...io, stopped: () => new Promise(() => {}) }), 0, said);
      assert.equal(JSON.parse(said).mapped, ROWS);
    };
    const { createClient } = await builtServer();
    const client = createClient({ ...message, concurrency: WORKERS });
    async function* people() {
      for await (const line of createInterface({ input: createReadStream(path) }))
        if (line.includes('@')) yield { email: line.split(',')[1]!, line };
    }
    const byRow = async () => {
      const file = createWriteStream(join(folder, 'by-row.csv'));
      let mapped = 0;
      for await (const result of client.mapIdentities(people())) {
        if (result.status !== 'mapped') throw new Error('expected a raw ID');
        const { dii, rawId, previousRawId, remapAt } = result;
        mapped++;
        if (!file.write(`${dii.line},${rawId},${previousRawId ?? ''},${new Date(remapAt).toISOString()},\n`))
          await once(file, 'drain');
      }
      file.end();
      await once(file, 'finish');
      assert.equal(mapped, ROWS);
    };
    const rate = (work: () => Promise<void>) => async () => (ROWS / (await timed(work))) * 1000;
    const { ours, peer, ratio } = await compare({ rounds: 4, warmUp: 2 }, rate(toFile), rate(byRow));
    return [
      {
        what: `tessera map --out of ${figure(ROWS)} rows, of the speed of a program with mapIdentities`,
        value: ratio,
        unit: 'x',
        limit: { atLeast: 0.85 },
        beside: `${figure(ours)} rows/s; the program ${figure(peer)}`,
      },
    ];
  } finally {
    stop();
    await rm(folder, { recursive: true, force: true });
  }
};
