/**
 * How the throughput of refreshes grows from one process of `tessera operator --processes` to two, on PostgreSQL. The machine has too
 * few cores for two busy processes, a load generator and a database, so each process is held to a share of one core, by a control group
 * of Linux: both have "a free core" of that speed. Without control groups (version 1, root) nothing is measured.
 */

import { spawn } from 'node:child_process';
import { access, mkdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { startPostgres } from '../test/database/postgres-server.ts';
import { figure, type Measurement, median } from './measure.ts';
import { builtServer } from './support/built.ts';
import { openLoad } from './support/load.ts';

const COMMAND = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url));
const GROUPS = '/sys/fs/cgroup/cpu';
/** What a process may use, of one core. */
const SHARE = 0.3;
const PERIOD_US = 10_000;
const CONNECTIONS = 32;
const ROUND_MS = 2_000;
const ROUNDS = 7;

const PARTICIPANT = {
  apiKey: 'UID2-C-I-1-bench0.of-the-benchmarks',
  clientSecret: Buffer.alloc(32, 7).toString('base64'),
};

/** Hold a process to {@link SHARE} of a core. Returns the function that removes its group once it has ended. */
const hold = async (pid: number): Promise<() => Promise<void>> => {
  const group = `${GROUPS}/tessera-bench-${pid}`;
  await mkdir(group);
  await writeFile(`${group}/cpu.cfs_period_us`, String(PERIOD_US));
  await writeFile(`${group}/cpu.cfs_quota_us`, String(SHARE * PERIOD_US));
  await writeFile(`${group}/cgroup.procs`, String(pid));
  return () => rmdir(group);
};

/** An operator of several processes, each of them held, with a load on it. */
const startGroup = async (processes: number, database: string) => {
  const args = ['operator', '--port', '0', '--roles', 'GENERATOR', '--log-level', 'error', '--database', database];
  const child = spawn(process.execPath, [COMMAND, ...args, '--processes', String(processes)], {
    env: {
      PATH: process.env['PATH'],
      TESSERA_API_KEY: PARTICIPANT.apiKey,
      TESSERA_CLIENT_SECRET: PARTICIPANT.clientSecret,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const url = await new Promise<string>((resolve, reject) => {
    child.once('exit', () => reject(new Error('processes: expected the operator to listen, it ended')));
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line.startsWith('listening on ')) resolve(line.slice('listening on '.length));
    });
  });
  const children = await readFile(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8');
  const workers = children.split(' ').filter(Boolean).map(Number);
  if (workers.length !== processes) throw new Error(`processes: expected ${processes}, got ${workers.length}`);
  const { createClient } = await builtServer();
  const answer = await createClient({ baseUrl: url, ...PARTICIPANT }).generate({ email: 'user@example.com' });
  if (answer.status !== 'success') throw new Error(`processes: expected a token set, got ${answer.status}`);
  const release = await Promise.all(workers.map(hold));
  const target = { port: Number(new URL(url).port), path: '/v2/token/refresh', body: answer.tokens.refreshToken };
  const load = await openLoad(target, CONNECTIONS);
  return {
    load,
    stop: async () => {
      load.close();
      child.kill('SIGTERM');
      await ended;
      for (const remove of release) await remove();
    },
  };
};

export const measure = async (): Promise<Measurement[]> => {
  const isPossible = await access(`${GROUPS}/cpu.cfs_quota_us`).then(
    () => process.getuid?.() === 0,
    () => false,
  );
  if (!isPossible) {
    console.error(
      'processes: not measured, as this machine has no control groups to hold a process to a share of a core',
    );
    return [];
  }
  const postgres = await startPostgres();
  const database = postgres.url('postgres');
  const one = await startGroup(1, database);
  const two = await startGroup(2, database);
  const rates: { readonly one: number; readonly two: number }[] = [];
  for (let round = -2; round < ROUNDS; round++) {
    const rate = { one: await one.load.run(ROUND_MS), two: await two.load.run(ROUND_MS) };
    if (round >= 0) rates.push(rate);
  }
  await one.stop();
  await two.stop();
  await postgres.stop();
  return [
    {
      what: `refreshes a second of two processes, each held to ${SHARE} of a core, of those of one`,
      value: median(rates.map(({ one, two }) => two / one)),
      unit: 'x',
      limit: { atLeast: 1.8 },
      beside: `${figure(median(rates.map(({ two }) => two)))} and ${figure(median(rates.map(({ one }) => one)))} /s`,
    },
  ];
};
