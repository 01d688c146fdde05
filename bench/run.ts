/**
 * `npm run bench [-- NAME...]`: run every `*.bench.ts` of this folder (or those whose names contain a NAME), print one
 * table, and write it to `bench/results.md` if all of them ran. Exits with 1 if a limit is exceeded.
 *
 * A bench exports `measure` and has a process of its own, so that what one leaves behind (compiled code, a full heap, Hono's
 * replacement of Request) does not influence the next.
 */

import { fork } from 'node:child_process';
import { readdir, writeFile } from 'node:fs/promises';
import { arch, availableParallelism, platform } from 'node:os';
import { ensureDist } from '../build/dist.ts';
import { figure, type Measurement, misses } from './measure.ts';

// Runs of full size (`TESSERA_BENCH_ROWS`, `..._MAPPINGS`, `..._REFRESHES`, `..._OPT_OUTS`) take minutes.
const FULL_SIZE = ['ROWS', 'MAPPINGS', 'REFRESHES', 'OPT_OUTS'];
const isFullSize = FULL_SIZE.some((name) => process.env[`TESSERA_BENCH_${name}`] !== undefined);
/** When a bench is killed, ms: more than twice what any of them takes. */
const TIMEOUT_MS = isFullSize ? 3_600_000 : 600_000;

/** Run one bench in this process, which was forked for it, and send the result to the parent. */
const inside = async (file: string): Promise<void> => {
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

const HEAD = ['measured', 'value', 'limit', '', 'beside'];

const line = (measured: Measurement): string[] => {
  const { what, value, unit, limit, beside = '' } = measured;
  const bound = limit && ('atMost' in limit ? `<= ${figure(limit.atMost)}` : `>= ${figure(limit.atLeast)}`);
  return [what, `${figure(value)} ${unit}`, bound ?? '', limit ? (misses(measured) ? 'MISSED' : 'ok') : '', beside];
};

const table = (rows: readonly string[][]): string => {
  const widths = HEAD.map((title, i) => Math.max(3, title.length, ...rows.map((row) => row[i]!.length)));
  const text = (row: readonly string[]) => `| ${row.map((cell, i) => cell.padEnd(widths[i]!)).join(' | ')} |`;
  return [text(HEAD), text(widths.map((width) => '-'.repeat(width))), ...rows.map(text)].join('\n');
};

const all = async (wanted: readonly string[]): Promise<void> => {
  await ensureDist();
  const files = (await readdir(import.meta.dirname))
    .filter((file) => file.endsWith('.bench.ts') && (!wanted.length || wanted.some((name) => file.includes(name))))
    .sort();
  const measured: Measurement[] = [];
  for (const file of files) {
    const start = performance.now();
    // A bench that fails does not stop the others.
    const failure = await outside(file).then(
      (some) => void measured.push(...some),
      (error: Error) => error,
    );
    if (failure) process.exitCode = 1;
    console.error(failure?.message ?? `${file} took ${((performance.now() - start) / 1000).toFixed(0)} s`);
  }
  const machine = `Node ${process.version}, ${platform()} ${arch()}, ${availableParallelism()} cores`;
  const result = table(measured.map(line));
  console.log(`\n${result}\n${machine}`);
  if (!wanted.length && !process.exitCode) {
    const day = new Date().toISOString().slice(0, 10);
    const text = `# Results of \`npm run bench\`\n\n${day}, ${machine}\n\n${result}\n`;
    await writeFile(`${import.meta.dirname}/results.md`, text);
  }
  if (measured.some(misses)) process.exitCode = 1;
};

const [first, second, ...more] = process.argv.slice(2);
if (first === '--inside') await inside(second!);
else await all([first, second, ...more].filter((name) => name !== undefined));
