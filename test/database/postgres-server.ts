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
  /** URL of a database, by name. */
  url(database: string): string;
  stop(): Promise<void>;
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
  await install().catch((error: unknown) => {
    failed = error;
  });
  const installed = await binaries();
  if (installed) return installed;
  throw new Error('expected PostgreSQL below /usr/lib/postgresql (Debian: apt-get install postgresql), found none', {
    cause: failed,
  });
};

/** The user to run as: PostgreSQL refuses to run as root. */
const unprivileged = async (): Promise<{ uid?: number; gid?: number }> => {
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

// Resolves when the server accepts connections; rejects with its last lines if it ends.
const ready = async (server: ChildProcess): Promise<void> => {
  const said: string[] = [];
  for await (const line of createInterface({ input: server.stderr! })) {
    if (line.includes('database system is ready to accept connections')) {
      server.stderr!.resume();
      return;
    }
    said.push(line);
  }
  throw new Error(`expected PostgreSQL to start, got: ${said.slice(-5).join(' | ')}`);
};

/**
 * Start a server.
 *
 * @param sharedBuffers  its cache. PostgreSQL's own default is 128MB.
 */
export const startPostgres = async (sharedBuffers = '32MB'): Promise<PostgresServer> => {
  const [bin, user] = await Promise.all([findOrInstall(), unprivileged()]);
  const folder = await mkdtemp(join(tmpdir(), 'tessera-postgres-'));
  const data = join(folder, 'data');
  const password = join(folder, 'password');
  await writeFile(password, PASSWORD);
  if (user.uid !== undefined) for (const path of [folder, password]) await chown(path, user.uid, user.gid!);
  const as = { ...user, cwd: folder };
  const [auth, lasting] = [
    ['-U', 'tessera', '-A', 'scram-sha-256', '--pwfile', password],
    ['-E', 'UTF8', '--no-sync'],
  ];
  await run(join(bin, 'initdb'), ['-D', data, ...auth, ...lasting, '--locale=C'], as);

  const start = async (attempt = 1): Promise<{ server: ChildProcess; port: number }> => {
    const port = await freePort();
    const settings = {
      listen_addresses: '127.0.0.1',
      port,
      unix_socket_directories: '',
      // The tests kill clients, never the server.
      fsync: 'off',
      shared_buffers: sharedBuffers,
      // Longer than any test: a client that does not end its connection after a refused login is found out.
      authentication_timeout: '10min',
    };
    const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const server = spawn(join(bin, 'postgres'), ['-D', data, ...flags], { ...as, stdio: ['ignore', 'ignore', 'pipe'] });
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

  return {
    url: (database) => `postgres://tessera:${PASSWORD}@127.0.0.1:${port}/${database}`,
    stop: async () => {
      process.off('exit', atExit);
      const ended = once(server, 'exit');
      // "Fast" shutdown: disconnects the clients.
      server.kill('SIGINT');
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
};
