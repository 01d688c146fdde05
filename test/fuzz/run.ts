/// <reference types="node" />
/**
 * Runs a target with many inputs: 1,000 over all targets in `npm test`, a million in `npm run fuzz`.
 *
 * `TESSERA_FUZZ_INPUTS` is the number of inputs of all targets, `TESSERA_FUZZ_SEED` the seed. A failing input, made as small as
 * possible, is written to `corpus/`, and every later run begins with the corpus.
 */

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import fc from 'fast-check';
import { expect, test } from 'vitest';

const TOTAL = Number(process.env.TESSERA_FUZZ_INPUTS ?? 1_000);
const SEED = Number(process.env.TESSERA_FUZZ_SEED ?? 20_260_601);
const TOTAL_WEIGHT = 100;

/** A path: in the project `page`, Vite replaces `new URL('...', import.meta.url)` by an address of http. */
const CORPUS = join(import.meta.dirname, 'corpus');

interface CorpusFile {
  /** What the input once did. */
  readonly note: string;
  /** The input, as JSON for readers. It may leave out what JSON cannot carry. */
  readonly readable?: unknown;
  /** The input, serialised by `node:v8`, base64. */
  readonly input: string;
}

const folderOf = (name: string): string => join(CORPUS, name.replaceAll(/[^a-z0-9]+/gi, '-').toLowerCase());

const readCorpus = (name: string): unknown[] => {
  const folder = folderOf(name);
  if (!existsSync(folder)) return [];
  return readdirSync(folder).map((file) => {
    const { input } = JSON.parse(readFileSync(join(folder, file), 'utf8')) as CorpusFile;
    return deserialize(Buffer.from(input, 'base64'));
  });
};

const keep = (name: string, input: unknown, note: string): void => {
  try {
    const serialized = serialize(input).toString('base64');
    const hash = createHash('sha256').update(serialized).digest('hex').slice(0, 12);
    const content: CorpusFile = { note, readable: input, input: serialized };
    mkdirSync(folderOf(name), { recursive: true });
    const text = JSON.stringify(content, (_, value) => (typeof value === 'bigint' ? `${value}` : value), 2);
    writeFileSync(join(folderOf(name), `${hash}.json`), `${text}\n`);
  } catch {
    // An input that cannot be serialised: the seed in the message repeats it.
  }
};

/**
 * Declare the test of one target.
 *
 * @param name    says what must hold.
 * @param weight  share of the inputs, in percent.
 * @param check   rejects if it does not hold.
 */
export function fuzz<T>(
  name: string,
  weight: number,
  inputs: fc.Arbitrary<T>,
  check: (input: T) => Promise<void>,
): void {
  const numRuns = Math.ceil((TOTAL * weight) / TOTAL_WEIGHT);
  test(`${name} (${numRuns} inputs)`, { timeout: 3_600_000 }, async () => {
    for (const input of readCorpus(name)) await check(input as T);
    const result = await fc.check(fc.asyncProperty(inputs, check), { numRuns, seed: SEED, endOnFailure: false });
    if (!result.failed) return expect(result.numRuns).toBe(numRuns);
    const [input] = result.counterexample ?? [];
    const reason = String(result.errorInstance ?? 'a failure').split('\n', 1)[0]!;
    keep(name, input, reason);
    throw new Error(`${reason}; seed ${SEED}, input: ${fc.stringify(input).slice(0, 2000)}`, {
      cause: result.errorInstance,
    });
  });
}
