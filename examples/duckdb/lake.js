/**
 * Mappings in a lake: `people.parquet` has the columns `id` and `email`; `mappings.parquet`, which this file writes, has one row for
 * each person that was mapped. `tessera map` is a filter between two queries. Nothing else is stored.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DuckDBInstance } from '@duckdb/node-api';

const TESSERA = fileURLToPath(new URL('dist/cli/main.js', import.meta.resolve('tessera-id/package.json')));

/** @param {string[]} args @param {string} [path] the file for standard output */
async function tessera(args, path) {
  const out = path === undefined ? undefined : await open(path, 'wx', 0o600);
  try {
    const child = spawn(process.execPath, [TESSERA, ...args], { stdio: ['ignore', out?.fd ?? 'inherit', 'inherit'] });
    const [code] = await once(child, 'exit');
    if (code !== 0) throw new Error(`tessera ${args[0]}: expected exit code 0, got ${code}`);
  } finally {
    await out?.close();
  }
}

/**
 * Run queries and commands. `work` gets a function that runs SQL, and one that returns the path of a temporary file.
 *
 * @param {string} folder
 * @param {(run: (sql: string) => Promise<void>, file: (name: string) => string) => Promise<void>} work
 */
async function withLake(folder, work) {
  // In the same folder, so that a result can be renamed; only this user can read it.
  const temporary = await mkdtemp(join(folder, 'run-'));
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  const people = join(folder, 'people.parquet');
  const mappings = join(folder, 'mappings.parquet');
  const file = (/** @type {string} */ name) => join(temporary, name);
  const run = async (/** @type {string} */ sql) => void (await connection.run(sql));
  try {
    await run(`CREATE VIEW people AS FROM read_parquet('${people}')`);
    const columns = 'id BIGINT, advertising_id TEXT, previous_id TEXT, refresh_at TIMESTAMPTZ, unmapped_reason TEXT';
    if (existsSync(mappings)) await run(`CREATE VIEW mappings AS FROM read_parquet('${mappings}')`);
    else await run(`CREATE TABLE mappings (${columns})`);
    await work(run, file);
    await run(`COPY (SELECT id, advertising_id, previous_id, refresh_at, unmapped_reason FROM next ORDER BY id)
      TO '${file('next.parquet')}' (FORMAT parquet)`);
    await chmod(file('next.parquet'), 0o600);
    await rename(file('next.parquet'), mappings);
  } finally {
    connection.closeSync();
    instance.closeSync();
    await rm(temporary, { recursive: true });
  }
}

/** Map who is new, or due at `now`. @param {string} folder @param {Date} [now] */
export async function mapDue(folder, now = new Date()) {
  await withLake(folder, async (run, file) => {
    await run(`COPY (
      SELECT p.id, p.email FROM people p LEFT JOIN mappings m USING (id)
      WHERE m.id IS NULL OR m.refresh_at <= TIMESTAMPTZ '${now.toISOString()}'
    ) TO '${file('due.jsonl')}' (FORMAT json)`);
    await tessera(['map', file('due.jsonl'), '--jsonl', '--out', file('mapped.jsonl')]);
    await run(`CREATE TABLE mapped AS FROM read_json('${file('mapped.jsonl')}', format = 'newline_delimited', columns = {
      id: 'BIGINT', advertising_id: 'TEXT', previous_id: 'TEXT', refresh_at: 'TIMESTAMPTZ', unmapped_reason: 'TEXT'})`);
    await run(`CREATE VIEW next AS FROM mapped UNION ALL BY NAME FROM mappings ANTI JOIN mapped USING (id)`);
  });
}

/** Remove the raw IDs of users who have opted out. After `mapDue`. @param {string} folder */
export async function applyOptOuts(folder) {
  await withLake(folder, async (run, file) => {
    await run(`COPY (SELECT advertising_id FROM mappings WHERE advertising_id IS NOT NULL) TO '${file('ids.csv')}'`);
    await tessera(['optouts', file('ids.csv')], file('opt-outs.csv'));
    await run(`CREATE TABLE opt_outs AS FROM read_csv('${file('opt-outs.csv')}', header = true,
      columns = {rawId: 'TEXT', optedOutAt: 'TIMESTAMPTZ'})`);
    await run(`CREATE VIEW next AS
      SELECT id, if(o.rawId IS NULL, advertising_id, NULL) AS advertising_id,
        if(o.rawId IS NULL, previous_id, NULL) AS previous_id, if(o.rawId IS NULL, refresh_at, NULL) AS refresh_at,
        if(o.rawId IS NULL, unmapped_reason, 'optout') AS unmapped_reason
      FROM mappings m LEFT JOIN opt_outs o ON o.rawId = m.advertising_id`);
  });
}
