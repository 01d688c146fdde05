/** Jobs in separate processes: killed at any point and run again; several on one database. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../src/database/database.ts';
import { createMappings, type Summary } from '../../src/mapping/index.ts';
import { createOperator, type Operator } from '../../src/operator/index.ts';
import { type Listening, listen } from '../../src/operator/node.ts';
import { createClient } from '../../src/server/index.ts';
import { ANY_KIND, freshLocation } from '../database/locations.ts';
import { ROOT } from '../operator/fixtures.ts';
import { NOON, people, stored } from './fixtures.ts';

/** A million takes minutes: `TESSERA_TEST_ROWS=1000000 npx vitest run --project more-database test/mapping/kill.test.ts`. */
const ROWS = Number(process.env['TESSERA_TEST_ROWS'] ?? 20_000);
const PATIENCE_MS = 120_000 + 3 * ROWS;

const children: ChildProcess[] = [];
let operator: Operator;
let node: Listening;
let service: { readonly baseUrl: string; readonly apiKey: string; readonly clientSecret: string };
/** Total number of DII that the service has mapped. */
let asked: () => Promise<number>;

beforeEach(async () => {
  operator = createOperator({ rootSecret: ROOT, roles: ['MAPPER'], now: () => NOON });
  node = await listen(operator, { port: 0 });
  const { apiKey, clientSecret } = operator.participants[0]!;
  service = { baseUrl: node.url, apiKey, clientSecret };
  asked = async () => {
    const metrics = await (await fetch(`${node.url}/metrics`)).text();
    return Number(/^tessera_identifiers_mapped_total\{.*"mapped".*\} (\d+)$/m.exec(metrics)?.[1] ?? 0);
  };
});
afterEach(async () => {
  for (const child of children.splice(0))
    if (child.exitCode === null && child.kill('SIGKILL')) await once(child, 'exit');
  await node.close();
});

interface Told extends Partial<Summary> {
  readonly ready?: true;
  readonly done?: Summary;
}

const startMapper = async (database: string, at = service) => {
  const child = spawn(
    process.execPath,
    [
      '--import',
      'tsx',
      fileURLToPath(new URL('mapper.ts', import.meta.url)),
      JSON.stringify({ database, service: at, count: ROWS, at: NOON }),
    ],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  );
  children.push(child);
  const exit = once(child, 'exit');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const until = async (wanted: (told: Told) => boolean): Promise<Told> => {
    for (;;) {
      const { value, done } = await lines.next();
      if (done) throw new Error('expected more of the mapper, got its end');
      const told = JSON.parse(value) as Told;
      if (wanted(told)) return told;
    }
  };
  await until(({ ready }) => ready === true);
  return {
    go: () => void child.stdin.write('go\n'),
    until,
    done: async () => (await until(({ done }) => done !== undefined)).done!,
    kill: async () => {
      child.kill('SIGKILL');
      await exit;
    },
  };
};

/** One line for each row, so that a million rows are compared as one string. */
const textOf = async (database: string): Promise<string> => {
  const mappings = await createMappings({ client: createClient({ ...service, now: () => NOON }), database });
  const rows = (await stored(mappings)).map((mapping) => Object.values(mapping).join());
  await mappings.close();
  return rows.join('\n');
};

let undisturbedText: Promise<string> | undefined;
const undisturbed = (): Promise<string> => (undisturbedText ??= mapUndisturbed());
const mapUndisturbed = async (): Promise<string> => {
  const database = await freshLocation('postgres');
  const mappings = await createMappings({ client: createClient({ ...service, now: () => NOON }), database });
  await mappings.map(people(ROWS));
  await mappings.close();
  return textOf(database);
};

test.each(ANY_KIND)(
  'a job that was killed several times ends with the mappings of an uninterrupted one (%s)',
  async (kind) => {
    const database = await freshLocation(kind);
    // While it reads the source, and near the end.
    for (const share of [0.01, 0.6]) {
      const mapper = await startMapper(database);
      mapper.go();
      await mapper.until(({ read = 0, kept = 0, mapped = 0 }) => mapped > 0 && kept + mapped >= share * read);
      await mapper.kill();
    }
    const before = await asked();
    const last = await startMapper(database);
    last.go();
    const { read, kept, mapped, invalid } = await last.done();
    expect({ read, invalid }).toEqual({ read: ROWS, invalid: 0 });
    expect(kept + mapped).toBe(ROWS);
    // The killed runs had stored some rows.
    expect(kept).toBeGreaterThan(0);
    // Stored rows were not requested again.
    expect((await asked()) - before).toBeLessThan(ROWS);
    expect(await textOf(database)).toBe(await undisturbed());
  },
  PATIENCE_MS,
);

/** Two addresses of the service, which answers nothing before both have been asked: no process can do the whole job before the other. */
const serviceForTwo = async () => {
  let open = (): void => {};
  const isOpen = new Promise<void>((resolve) => (open = resolve));
  const asked = new Set<number>();
  const listenAs = async (name: number) => {
    const { url, close } = await listen(
      {
        fetch: async (...given) => {
          if (asked.add(name).size === 2) open();
          await isOpen;
          return operator.fetch(...given);
        },
      },
      { port: 0, graceMs: 0 },
    );
    onTestFinished(close);
    return { ...service, baseUrl: url };
  };
  return Promise.all([1, 2].map(listenAs));
};

test(
  'two processes on one PostgreSQL share a job, and no row is requested twice',
  async () => {
    const database = await freshLocation('postgres');
    const mappers = await Promise.all((await serviceForTwo()).map((at) => startMapper(database, at)));
    for (const { go } of mappers) go();
    const [one, other] = await Promise.all(mappers.map(({ done }) => done()));
    expect(await asked()).toBe(ROWS);
    expect(one!.mapped + other!.mapped).toBe(ROWS);
    expect(one!.mapped).toBeGreaterThan(0);
    expect(other!.mapped).toBeGreaterThan(0);
    expect(await textOf(database)).toBe(await undisturbed());
  },
  PATIENCE_MS,
);

test(
  'if one of two processes is killed, the other completes its rows',
  async () => {
    const database = await freshLocation('postgres');
    const [killed, left] = await Promise.all([startMapper(database), startMapper(database)]);
    killed.go();
    await killed.until(({ mapped = 0 }) => mapped > 0);
    left.go();
    await killed.kill();
    await left.done();
    const open = await openDatabase(database);
    expect(await open.query('SELECT count(*) FROM tessera_mappings WHERE state <> $1', ['mapped'])).toEqual([
      { count: 0 },
    ]);
    await open.close();
    expect(await textOf(database)).toBe(await undisturbed());
  },
  PATIENCE_MS,
);
