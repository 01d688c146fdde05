/**
 * Starts a real PostgreSQL for the tests: Debian's, on loopback, in a temporary folder.
 *
 * As root it installs PostgreSQL if it is missing. The tests fail with the reason if that fails.
 */

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { freePort } from '../support/free-port.ts';

const run = promisify(execFile);

export interface PostgresServer {
  readonly port: number;
  url(database: string): string;
  /**
   * Copy this server and start the copy as its standby, which replicates under the name `standby`.
   *
   * @param port  where the standby finds this server; by default, at its own port.
   */
  createStandby(port?: number): Promise<PostgresServer>;
  stop(): Promise<void>;
  /** End it at once, without telling its clients and standbys. */
  kill(): Promise<void>;
}

/** Password in the URLs of the tests; no message may contain it. */
export const PASSWORD = 'kept-out-of-messages';

const INSTALLED = '/usr/lib/postgresql';

const namesIn = (folder: string): Promise<string[]> => readdir(folder).catch(() => []);

const binaries = async (): Promise<string | undefined> => {
  const versions = await namesIn(INSTALLED);
  for (const version of versions.sort((a, b) => Number(b) - Number(a))) {
    const folder = join(INSTALLED, version, 'bin');
    const found = await namesIn(folder);
    if (found.includes('postgres') && found.includes('initdb')) return folder;
  }
  return undefined;
};

const install = async (): Promise<void> => {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const apt = (...args: string[]) => run('apt-get', ['-q', '-y', '-o', 'DPkg::Lock::Timeout=180', ...args], { env });
  await apt('update');
  await apt('install', '--no-install-recommends', 'postgresql');
};

const findOrInstall = async (): Promise<string> => {
  const found = await binaries();
  if (found) return found;
  let failed: unknown;
  await install().catch((error: unknown) => (failed = error));
  const installed = await binaries();
  if (installed) return installed;
  throw new Error('expected PostgreSQL below /usr/lib/postgresql (Debian: apt-get install postgresql), found none', {
    cause: failed,
  });
};

/** The user to run as: PostgreSQL and PgBouncer refuse to run as root. */
export const unprivileged = async (): Promise<{ uid?: number; gid?: number }> => {
  if (process.getuid?.() !== 0) return {};
  for (const user of ['postgres', 'nobody']) {
    try {
      const [uid, gid] = await Promise.all(
        ['-u', '-g'].map(async (flag) => Number((await run('id', [flag, user])).stdout)),
      );
      return { uid: uid!, gid: gid! };
    } catch {
      // The user does not exist.
    }
  }
  throw new Error('expected a user postgres or nobody to run PostgreSQL as, found neither');
};

/** Resolves when the server accepts connections; rejects with its last lines if it ends. */
const ready = async (server: ChildProcess): Promise<void> => {
  const said: string[] = [];
  for await (const line of createInterface({ input: server.stderr! })) {
    if (/database system is ready to accept (read-only )?connections/.test(line)) {
      server.stderr!.resume();
      return;
    }
    said.push(line);
  }
  throw new Error(`expected PostgreSQL to start, got: ${said.slice(-5).join(' | ')}`);
};

type User = Awaited<ReturnType<typeof unprivileged>>;

/** A folder that belongs to the user of the server. */
const folderOf = async (user: User): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'tessera-postgres-'));
  if (user.uid !== undefined) await chown(folder, user.uid, user.gid!);
  return folder;
};

/** Start a server on the data in `FOLDER/data`. The folder is removed when it stops. */
const serve = async (
  bin: string,
  user: User,
  folder: string,
  sharedBuffers: string,
  autovacuum: string,
): Promise<PostgresServer> => {
  const as = { ...user, cwd: folder };
  const start = async (attempt = 1): Promise<{ server: ChildProcess; port: number }> => {
    const port = await freePort();
    const settings = {
      listen_addresses: '127.0.0.1',
      port,
      unix_socket_directories: '',
      // The tests kill servers and clients, never the machine.
      fsync: 'off',
      autovacuum,
      shared_buffers: sharedBuffers,
      // Longer than any test: a client that does not end its connection after a refused login is found out.
      authentication_timeout: '10min',
    };
    const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const args = ['-D', join(folder, 'data'), ...flags];
    const server = spawn(join(bin, 'postgres'), args, { ...as, stdio: ['ignore', 'ignore', 'pipe'] });
    try {
      await ready(server);
      return { server, port };
    } catch (error) {
      // Another process may have taken the port in the meantime.
      if (attempt === 3) throw error;
      return start(attempt + 1);
    }
  };
  const { server, port } = await start();
  const atExit = (): void => void server.kill('SIGQUIT');
  process.once('exit', atExit);
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    process.off('exit', atExit);
    const ended = once(server, 'exit');
    if (server.exitCode === null && server.kill(signal)) await ended;
    await rm(folder, { recursive: true, force: true });
  };

  return {
    port,
    url: (database) => `postgres://tessera:${PASSWORD}@127.0.0.1:${port}/${database}`,
    createStandby: async (primaryPort = port) => {
      const copy = await folderOf(user);
      const from = `host=127.0.0.1 port=${primaryPort} user=tessera password=${PASSWORD} application_name=standby`;
      const args = ['-D', join(copy, 'data'), '-d', from, '--write-recovery-conf', '--checkpoint=fast', '--no-sync'];
      await run(join(bin, 'pg_basebackup'), args, { ...user, cwd: copy });
      return serve(bin, user, copy, sharedBuffers, autovacuum);
    },
    // "Fast" shutdown: disconnects the clients.
    stop: () => end('SIGINT'),
    // "Immediate" shutdown: no checkpoint, and standbys do not receive what they have not received yet.
    kill: () => end('SIGQUIT'),
  };
};

/**
 * Start a server.
 *
 * @param sharedBuffers  its cache. PostgreSQL's own default is 128MB.
 * @param autovacuum     `off` where the databases are too many and too small for it.
 */
export const startPostgres = async (sharedBuffers = '32MB', autovacuum = 'on'): Promise<PostgresServer> => {
  const [bin, user] = await Promise.all([findOrInstall(), unprivileged()]);
  const folder = await folderOf(user);
  const password = join(folder, 'password');
  await writeFile(password, PASSWORD);
  if (user.uid !== undefined) await chown(password, user.uid, user.gid!);
  const auth = ['-U', 'tessera', '-A', 'scram-sha-256', '--pwfile', password];
  const lasting = ['-E', 'UTF8', '--no-sync', '--locale=C'];
  await run(join(bin, 'initdb'), ['-D', join(folder, 'data'), ...auth, ...lasting], { ...user, cwd: folder });
  return serve(bin, user, folder, sharedBuffers, autovacuum);
};
