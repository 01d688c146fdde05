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
import { compare, figure, type Measurement } from './measure.ts';
import { builtServer } from './support/built.ts';
import { type Load, openLoad } from './support/load.ts';

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

/** What ends when the bench ends, the last first. */
type Cleanup = (() => unknown)[];

/** Start an operator of several processes, each of them held, and open a load on it. */
const startGroup = async (processes: number, database: string, cleanup: Cleanup): Promise<Load> => {
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
  const groups: (() => Promise<void>)[] = [];
  cleanup.push(async () => {
    child.kill('SIGTERM');
    await ended;
    for (const remove of groups) await remove();
  });
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
  for (const pid of workers) groups.push(await hold(pid));
  const target = { port: Number(new URL(url).port), path: '/v2/token/refresh', body: answer.tokens.refreshToken };
  const load = await openLoad(target, CONNECTIONS);
  cleanup.push(load.close);
  return load;
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
  const cleanup: Cleanup = [];
  try {
    const postgres = await startPostgres();
    cleanup.push(postgres.stop);
    const database = postgres.url('postgres');
    const one = await startGroup(1, database, cleanup);
    const two = await startGroup(2, database, cleanup);
    const { ours, peer, ratio } = await compare(
      { rounds: ROUNDS, warmUp: 2 },
      () => two.run(ROUND_MS),
      () => one.run(ROUND_MS),
    );
    return [
      {
        what: `refreshes a second of two processes, each held to ${SHARE} of a core, of those of one`,
        value: ratio,
        unit: 'x',
        limit: { atLeast: 1.8 },
        beside: `${figure(ours)} and ${figure(peer)} /s`,
      },
    ];
  } finally {
    for (const end of cleanup.reverse()) await end();
  }
};
