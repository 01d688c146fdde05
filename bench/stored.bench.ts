/**
 * The cost of storing: CPU time of a row of stored mappings, in the job's process (with the server client, and with PGlite, which
 * runs inside it) and in the processes of PostgreSQL. The service answers at once and does not count. Each run has a process and a
 * database of its own, and maps people whom it does not know. `growth` has rows per second, and a bare `COPY` beside them.
 */

import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase } from '../src/database/database.ts';
import { startPostgres } from '../test/database/postgres-server.ts';
import { figure, type Measurement, median } from './measure.ts';
import { start } from './support/child.ts';

/** Rows of one run. `TESSERA_BENCH_ROWS=1000000 npm run bench -- stored` takes minutes. */
const ROWS = Number(process.env['TESSERA_BENCH_ROWS'] ?? 200_000);
const ROUNDS = 3;
const TICK_US = 10_000;

/** CPU time of a process and of its ended children, us, and the process that started it. */
const processOf = async (pid: string) => {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // The name, which may contain spaces, is in parentheses.
  const fields = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11, 15);
  return { parent: `${fields[1]}`, us: (user + system + endedUser + endedSystem) * TICK_US };
};

/** CPU time of a PostgreSQL server, with all its processes, us. */
const serverUs = async (postmaster: string): Promise<number> => {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const all = await Promise.all(pids.map(async (pid) => ({ pid, ...(await processOf(pid)) })));
  return all
    .filter(({ pid, parent }) => pid === postmaster || parent === postmaster)
    .reduce((sum, { us }) => sum + us, 0);
};

interface Job {
  /** CPU time of the job without its warm-up, us. */
  readonly cpuUs: number;
  /** The CPU time of the server includes these. */
  readonly warmUpRows: number;
}

export const measure = async (): Promise<Measurement[]> => {
  const service = await start('due-service.ts');
  const postgres = await startPostgres('128MB');
  const admin = await openDatabase(postgres.url('postgres'));
  const [{ data_directory: folder } = {}] = await admin.query<{ data_directory: string }>('SHOW data_directory');
  const [postmaster = ''] = (await readFile(`${folder}/postmaster.pid`, 'utf8')).split('\n');
  const map = async (database: string): Promise<Job> => {
    const { message, stop } = await start<Job>('growth-job.ts', [
      'stored',
      ROWS,
      JSON.stringify(service.message),
      database,
    ]);
    stop();
    return message;
  };
  const files = await mkdtemp(join(tmpdir(), 'tessera-stored-'));
  const spent = { PGlite: [] as number[], job: [] as number[], server: [] as number[] };
  try {
    for (let round = 0; round < ROUNDS; round++) {
      spent.PGlite.push((await map(join(files, `${round}`))).cpuUs / ROWS);
      await admin.query(`CREATE DATABASE stored_${round}`);
      const before = await serverUs(postmaster);
      const { cpuUs, warmUpRows } = await map(postgres.url(`stored_${round}`));
      spent.job.push(cpuUs / ROWS);
      spent.server.push(((await serverUs(postmaster)) - before) / (ROWS + warmUpRows));
    }
  } finally {
    service.stop();
    await admin.close();
    await postgres.stop();
    await rm(files, { recursive: true, force: true });
  }
  const [job, server] = [median(spent.job), median(spent.server)];
  const what = (name: string) => `CPU of a row of stored mappings, ${figure(ROWS)} rows, ${name}`;
  return [
    { what: what('PGlite'), value: median(spent.PGlite), unit: 'us', limit: { atMost: 25 } },
    {
      what: what('PostgreSQL'),
      value: job + server,
      unit: 'us',
      limit: { atMost: 20 },
      beside: `job ${figure(job)}, database ${figure(server)} us`,
    },
  ];
};
