/** Starts a real PgBouncer in front of a PostgreSQL of the tests. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, chown, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { freePort } from '../support/free-port.ts';
import { emptyFolder } from './locations.ts';
import { PASSWORD, unprivileged } from './postgres-server.ts';

const PGBOUNCER = process.env['PGBOUNCER'] ?? '/usr/sbin/pgbouncer';

export const hasPgBouncer = await access(PGBOUNCER).then(
  () => true,
  () => false,
);
// In CI it must be there: `.ci/run` installs it.
if (!hasPgBouncer && process.env['TESSERA_ENGINES'] === 'all')
  throw new Error(`expected PgBouncer at ${PGBOUNCER}, which .ci/run installs, found none`);

/**
 * Start PgBouncer.
 *
 * @param place     URL of a database.
 * @param settings  lines of its configuration.
 * @returns the URL of the same database through PgBouncer.
 */
export const startPgBouncer = async (place: string, settings: readonly string[]) => {
  const [folder, user, port, server] = [await emptyFolder(), await unprivileged(), await freePort(), new URL(place)];
  const [users, ini] = [join(folder, 'users.txt'), join(folder, 'pgbouncer.ini')];
  const lines = [
    '[databases]',
    `* = host=127.0.0.1 port=${server.port}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = plain',
    `auth_file = ${users}`,
    ...settings,
  ];
  await writeFile(users, `"tessera" "${PASSWORD}"\n`);
  await writeFile(ini, `${lines.join('\n')}\n`);
  if (user.uid !== undefined) for (const path of [folder, users, ini]) await chown(path, user.uid, user.gid!);
  const bouncer = spawn(PGBOUNCER, [ini], { ...user, cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  const said: string[] = [];
  for await (const line of createInterface({ input: bouncer.stderr })) {
    said.push(line);
    if (line.includes('process up')) break;
  }
  if (!said.at(-1)?.includes('process up')) throw new Error(`expected PgBouncer to start, got: ${said.join(' | ')}`);
  bouncer.stderr.resume();
  const url = new URL(place);
  url.port = `${port}`;
  return {
    url: url.href,
    stop: async () => {
      const ended = once(bouncer, 'exit');
      if (bouncer.exitCode === null && bouncer.kill('SIGTERM')) await ended;
    },
  };
};
