/**
 * Rate and CPU time of refreshes over HTTP on loopback, compared with a bare Hono route on the same Node server that receives the
 * same refresh token and sends it back, without and with five AES-GCM operations; and the CPU time of a refresh with the state in a database, compared with memory. Each
 * server has its own process; this one generates the load.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres } from '../test/database/postgres-server.ts';
import { compare, figure, type Measurement, median } from './measure.ts';
import { start } from './support/child.ts';
import { openLoad, type Target } from './support/load.ts';

const CONNECTIONS = 32;
const ROUND_MS = 700;
const WARM_UP = 4;

const DATABASE_ROUNDS = 12;

/** CPU time of a refresh on each database, as a ratio to memory: medians over rounds in which all three take turns. */
const measureDatabases = async (): Promise<Measurement[]> => {
  const folder = await mkdtemp(join(tmpdir(), 'tessera-bench-'));
  const postgres = await startPostgres();
  const places = { memory: [], PGlite: [folder], PostgreSQL: [postgres.url('postgres')] };
  const started = await Promise.all(
    Object.entries(places).map(async ([name, args]) => ({
      name,
      server: await start<Target>('refresh-operator.ts', args),
    })),
  );
  // After all have started: an operator closes connections that carry no request for ten seconds.
  const servers = await Promise.all(
    started.map(async ({ name, server }) => ({
      name,
      server,
      load: await openLoad(server.message, CONNECTIONS),
      spent: [] as number[],
    })),
  );
  for (let round = -2; round < DATABASE_ROUNDS; round++)
    for (const { server, load, spent } of round % 2 ? servers : servers.toReversed()) {
      await server.busy();
      const rate = await load.run(ROUND_MS);
      const each = ((await server.busy()) / rate) * 1e6;
      if (round >= 0) spent.push(each);
    }
  for (const { server, load } of servers) {
    load.close();
    server.stop();
  }
  await postgres.stop();
  await rm(folder, { recursive: true });
  const [memory, ...databases] = servers;
  return databases.map(({ name, spent }) => ({
    what: `CPU time of one refresh on ${name}, of that in memory`,
    value: median(spent.map((each, round) => each / memory!.spent[round]!)),
    unit: 'x',
    limit: { atMost: 1.15 },
    beside: `${figure(median(spent))} and ${figure(median(memory!.spent))} us`,
  }));
};

export const measure = async (): Promise<Measurement[]> => {
  const operator = await start<Target>('refresh-operator.ts');
  const echo = await start<Target>('refresh-echo.ts');
  const floor = await start<Target>('refresh-echo.ts', ['aes']);
  const servers = { operator, echo, floor };
  const loads = {
    operator: await openLoad(operator.message, CONNECTIONS),
    echo: await openLoad({ ...operator.message, ...echo.message }, CONNECTIONS),
    floor: await openLoad({ ...operator.message, ...floor.message }, CONNECTIONS),
  };

  // CPU time of the servers, which load generator and other processes do not distort.
  const spent = { operator: [] as number[], echo: [] as number[], floor: [] as number[] };
  const round = (name: keyof typeof spent) => async () => {
    await servers[name].busy();
    const rate = await loads[name].run(ROUND_MS);
    spent[name].push(((await servers[name].busy()) / rate) * 1e6);
    return rate;
  };
  const compared = await compare({ rounds: 16, warmUp: WARM_UP }, round('operator'), async () => {
    await round('floor')();
    return round('echo')();
  });
  for (const it of Object.values(loads)) it.close();
  for (const it of Object.values(servers)) it.stop();
  const [each, eachEcho, eachFloor] = [spent.operator, spent.echo, spent.floor].map((all) => all.slice(WARM_UP));
  const ratioTo = (others: readonly number[]) => median(each!.map((us, index) => us / others[index]!));
  return [
    {
      what: 'refreshes a second over HTTP, of those of a bare echo',
      value: compared.ratio,
      unit: 'x',
      beside: `${figure(compared.ours)} requests/s; echo ${figure(compared.peer)}`,
    },
    {
      what: 'CPU time of one refresh over HTTP, of that of a bare echo',
      value: ratioTo(eachEcho!),
      unit: 'x',
      limit: { atMost: 4 },
      beside: `${figure(median(each!))} and ${figure(median(eachEcho!))} us`,
    },
    {
      what: 'CPU time of one refresh over HTTP, of that of an echo with five AES-GCM operations',
      value: ratioTo(eachFloor!),
      unit: 'x',
      limit: { atMost: 1.5 },
      beside: `${figure(median(each!))} and ${figure(median(eachFloor!))} us`,
    },
    ...(await measureDatabases()),
  ];
};
