/**
 * How the cost of one unit changes as the work grows to 10, 100 and more times: refreshes of an operator in memory, rows of the
 * server client and of stored mappings on PGlite and on PostgreSQL through a service that answers at once, of a bare `COPY` into the
 * same table, opt-outs in memory.
 * Each size runs in a fresh process, small ones several times. `TESSERA_BENCH_ROWS=10000000 npm run bench -- growth` adds the
 * larger sizes, on PGlite up to 1,000,000; the charts keep the sizes that a run leaves out.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase } from '../src/database/database.ts';
import { startPostgres } from '../test/database/postgres-server.ts';
import { figure, type Measurement, median } from './measure.ts';
import { start } from './support/child.ts';

const MOST = process.env['TESSERA_BENCH_ROWS'];
/** Runs of a size; the larger ones are long enough to need no repetition. */
const ROUNDS = 3;
const ROUNDS_UP_TO = 20_000;

interface Job {
  /** Cost: ms, or bytes. */
  readonly cost: number;
  readonly resident: number;
}

interface Work {
  readonly kind: string;
  readonly label: string;
  readonly unit: string;
  /** The smallest amount; each further one is 10 times as large. */
  readonly from: number;
  /** The largest by default. */
  readonly to: number;
  /** The largest of all, where `TESSERA_BENCH_ROWS` asks for more. */
  readonly atMost?: number;
  /** A mapping has a rate and its memory in charts of their own. */
  readonly isMapping?: boolean;
  readonly service?: string;
  /** A database for one job. */
  readonly database?: () => Promise<{ readonly url: string; drop(): Promise<void> }>;
}

const runOnce = async ({ kind, service = '{}', database }: Work, amount: number): Promise<Job> => {
  const opened = await database?.();
  try {
    const { message, stop } = await start<Job>('growth-job.ts', [kind, amount, service, opened?.url ?? '']);
    stop();
    return message;
  } finally {
    await opened?.drop();
  }
};

/** Measure one size: the median of its rounds. */
const measureSize = async (work: Work, amount: number): Promise<Job> => {
  const jobs: Job[] = [];
  for (let round = 0; round < (amount <= ROUNDS_UP_TO ? ROUNDS : 1); round++) jobs.push(await runOnce(work, amount));
  return { cost: median(jobs.map(({ cost }) => cost)), resident: median(jobs.map(({ resident }) => resident)) };
};

const measureGrowth = async (work: Work): Promise<Measurement[]> => {
  const { label, unit, from, to, atMost = Number.POSITIVE_INFINITY, isMapping } = work;
  const largest = MOST && isMapping ? Math.min(Number(MOST), atMost) : to;
  const measured: Measurement[] = [];
  let first: number | undefined;
  for (let amount = from; amount <= largest; amount *= 10) {
    const { cost, resident } = await measureSize(work, amount);
    const each = cost / amount;
    first ??= each;
    const point = (chart: string, x: number) => ({ chart, series: label, x });
    measured.push({
      what: `${label}: cost of one of ${figure(amount)}, of one of ${figure(from)}`,
      value: each / first,
      unit: 'x',
      beside: unit === 'bytes' ? `${figure(each)} bytes` : `${figure(each * 1000)} us`,
      point: point('growth', amount / from),
    });
    if (!isMapping) continue;
    measured.push({
      what: `${label}: ${figure(amount)}`,
      value: amount / (cost / 1000),
      unit: 'rows/s',
      point: point('mapping', amount),
    });
    // The server reads the rows of a `COPY`, not the job.
    if (work.kind !== 'copy')
      measured.push({
        what: `${label}: ${figure(amount)}, memory`,
        value: resident / 1e6,
        unit: 'MB',
        point: point('mapping-memory', amount),
      });
  }
  return measured;
};

const folder = async () => {
  const url = await mkdtemp(join(tmpdir(), 'tessera-growth-'));
  return { url, drop: () => rm(url, { recursive: true, force: true }) };
};

export const measure = async (): Promise<Measurement[]> => {
  const canned = await start('mapping-service.ts');
  const due = await start('due-service.ts');
  const postgres = await startPostgres('128MB');
  const admin = await openDatabase(postgres.url('postgres'));
  const mapping = { unit: 'ms', from: 10_000, isMapping: true };
  const service = JSON.stringify(due.message);
  let databases = 0;
  const onPostgres = async () => {
    const name = `growth_${databases++}`;
    await admin.query(`CREATE DATABASE ${name}`);
    return { url: postgres.url(name), drop: async () => void (await admin.query(`DROP DATABASE ${name}`)) };
  };
  const works: readonly Work[] = [
    { kind: 'refresh', label: 'refresh in memory, CPU', unit: 'ms', from: 1_000, to: 100_000 },
    { kind: 'optOuts', label: 'opt-outs, memory', unit: 'bytes', from: 10_000, to: 1_000_000 },
    { ...mapping, kind: 'client', label: 'server client', to: 1_000_000, service: JSON.stringify(canned.message) },
    {
      ...mapping,
      kind: 'stored',
      label: 'stored mappings, PGlite',
      to: 100_000,
      atMost: 1_000_000,
      service,
      database: folder,
    },
    { ...mapping, kind: 'stored', label: 'stored mappings, PostgreSQL', to: 100_000, service, database: onPostgres },
    {
      ...mapping,
      kind: 'copy',
      label: 'bare COPY into the same table, PostgreSQL',
      to: 100_000,
      service,
      database: onPostgres,
    },
  ];
  try {
    const measured: Measurement[] = [];
    for (const work of works) measured.push(...(await measureGrowth(work)));
    return measured;
  } finally {
    for (const { stop } of [canned, due]) stop();
    await admin.close();
    await postgres.stop();
  }
};
