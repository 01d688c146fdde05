/**
 * `npm run bench [-- NAME...]`: run every `*.bench.ts` of this folder (or those whose names contain a NAME), print one
 * table, keep the figures in `bench/results.json`, and write what is generated from them: `bench/results.md`, `bench/charts/`,
 * and the block of docs/benchmarks.md. Exits with 1 if a limit is exceeded.
 *
 * `npm run bench -- --report` measures nothing and writes the generated files again.
 *
 * A bench exports `measure` and has a process of its own, so that what one leaves behind (compiled code, a full heap, Hono's
 * replacement of Request) does not influence the next.
 */

import { fork } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { ensureDist } from '../build/dist.ts';
import { type Measurement, misses } from './measure.ts';
import { origin, readResults, withBench, writeResults } from './report/results.ts';
import { tableOf } from './report/tables.ts';
import { writeReport } from './report/write.ts';

/** Runs of full size (`TESSERA_BENCH_ROWS`, `..._MAPPINGS`, `..._REFRESHES`, `..._OPT_OUTS`) take minutes. */
const FULL_SIZE = ['ROWS', 'MAPPINGS', 'REFRESHES', 'OPT_OUTS'];
const isFullSize = FULL_SIZE.some((name) => process.env[`TESSERA_BENCH_${name}`] !== undefined);
/** When a bench is killed, ms: several times what any of them takes on a quiet machine. */
const TIMEOUT_MS = isFullSize ? 3_900_000 : 600_000;

/** Run one bench in this process, which was forked for it, and send the result to the parent. */
const inside = async (file: string): Promise<void> => {
  // The parent has been stopped, or has the result.
  process.on('disconnect', () => process.exit());
  const { measure } = (await import(`./${file}`)) as { measure: () => Promise<readonly Measurement[]> };
  process.send!(await measure());
  process.disconnect();
};

/** Fork a process for one bench and wait for its result. */
const outside = (file: string): Promise<readonly Measurement[]> =>
  new Promise((resolve, reject) => {
    const child = fork(import.meta.filename, ['--inside', file]);
    const late = setTimeout(() => child.kill('SIGKILL'), TIMEOUT_MS);
    let measured: readonly Measurement[] | undefined;
    child.on('message', (message) => {
      measured = message as readonly Measurement[];
    });
    child.on('exit', (code, signal) => {
      clearTimeout(late);
      if (measured && code === 0) resolve(measured);
      else reject(new Error(`${file}: ended with ${signal ?? code}`));
    });
  });

const all = async (wanted: readonly string[]): Promise<void> => {
  await ensureDist();
  const files = (await readdir(import.meta.dirname))
    .filter((file) => file.endsWith('.bench.ts') && (!wanted.length || wanted.some((name) => file.includes(name))))
    .sort();
  if (!files.length) throw new Error(`bench: expected a file whose name contains ${wanted.join(' or ')}, found none`);
  const measured: Measurement[] = [];
  for (const file of files) {
    const from = origin();
    const start = performance.now();
    // A bench that fails does not stop the others.
    const failure = await outside(file).then(
      async (some) => {
        measured.push(...some);
        // A bench that this machine cannot run leaves the figures of another.
        if (some.length === 0) return;
        // After each: an interrupted run loses none, and another run may have written in the meantime.
        await writeResults(withBench(await readResults(), file.replace('.bench.ts', ''), from, some));
      },
      (error: Error) => error,
    );
    if (failure) process.exitCode = 1;
    console.error(failure?.message ?? `${file} took ${((performance.now() - start) / 1000).toFixed(0)} s`);
  }
  console.log(`\n${tableOf(measured)}\n${origin().machine}`);
  await writeReport(await readResults());
  if (measured.some(misses)) process.exitCode = 1;
};

const [first, second, ...more] = process.argv.slice(2);
if (first === '--inside') await inside(second!);
else if (first === '--report') await writeReport(await readResults());
else await all([first, second, ...more].filter((name) => name !== undefined));
