/**
 * Lets only one process open a folder: two instances of PGlite on one folder silently lose each other's rows. A process listens
 * on a socket with a unique name in the folder, then connects to all others. Once a process has ended, in whatever way, the
 * kernel refuses connections, and the next process removes its socket. This works between containers that share a folder, but not
 * between machines, so NFS is refused. On Windows, a pipe named after the folder is exclusive by itself.
 */

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readdir, rename, rm, stat, statfs } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { hostname } from 'node:os';
import { join, relative } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { escapeControls } from '../../token/checks.ts';
import { TokenError } from '../../token/index.ts';

const NAME = /^in-use-[0-9a-f]{8}\.sock$/;
const NFS = 0x6969;
/** Limits of the kernels. Node 20 cuts a longer path off without an error. */
const MAX_PATH_BYTES = process.platform === 'linux' ? 107 : 103;
/** How long to wait for the answer of a process that is busy or has been paused, ms. */
const ANSWER_MS = 5000;
const ASK_AGAIN_MS = 10;
const MAX_SHOWN = 100;

const PROCESS_ID = randomUUID();

export interface FolderLock {
  release(): Promise<void>;
}

/** A process that listens. `starting`: it may still give up. `ending`: it has closed the connection without an answer. */
interface Owner {
  readonly description: string;
  readonly state: 'holding' | 'starting' | 'ending';
}

/** Listen, and answer each connection with who this process is. `hold` changes the answer from `starting` to `holding`. */
async function listen(path: string): Promise<{ hold(): void; close(): void }> {
  let state: Owner['state'] = 'starting';
  const server = createServer((peer) => {
    peer.on('error', () => {});
    peer.unref();
    const description = `process ${process.pid} on ${hostname()}`;
    peer.end(JSON.stringify({ id: PROCESS_ID, description, state }));
  });
  // `exclusive`: otherwise, the primary process of a cluster would listen in place of its worker.
  server.listen({ path, exclusive: true });
  await once(server, 'listening');
  // No descriptor is left to accept a connection. Its process sees it closed without an answer.
  server.on('error', () => {});
  server.unref();
  return {
    hold: () => {
      state = 'holding';
    },
    close: () => void server.close(),
  };
}

function parseAnswer(text: string): Owner {
  try {
    const { id, description, state } = JSON.parse(text);
    if (id === PROCESS_ID) return { description: 'this process', state };
    return { description: escapeControls(String(description).slice(0, MAX_SHOWN)), state };
  } catch {
    return { description: 'another process', state: 'ending' };
  }
}

/** Ask who listens. Resolves to undefined if nobody does. A process that does not answer in time holds its folder. */
function ask(path: string, answerMs: number): Promise<Owner | undefined> {
  return new Promise((resolve, reject) => {
    let text = '';
    const peer = connect({ path });
    const timer = setTimeout(() => {
      resolve({ description: 'another process', state: 'holding' });
      peer.destroy();
    }, answerMs);
    peer.setEncoding('utf8');
    peer.on('data', (part) => {
      text += part;
    });
    peer.on('error', ({ code = '' }: NodeJS.ErrnoException) => {
      // ENOTSOCK: macOS, for a file that is no socket.
      if (['ECONNREFUSED', 'ENOENT', 'ENOTSOCK'].includes(code)) resolve(undefined);
      // Others mean that someone listens: its queue is full (EAGAIN), or it has just ended (ECONNRESET, EPIPE).
      else if (code === 'EACCES' || code === 'EPERM') reject(peer.errored);
    });
    peer.on('close', () => {
      clearTimeout(timer);
      resolve(parseAnswer(text));
    });
  });
}

function socketPath(folder: string, name: string): string {
  const path = join(folder, name);
  const near = relative('', path);
  const shorter = Buffer.byteLength(near) < Buffer.byteLength(path) ? near : path;
  const surplus = Buffer.byteLength(shorter) - MAX_PATH_BYTES;
  if (surplus <= 0) return shorter;
  throw new TokenError(
    'storage_failed',
    `database: the path of the folder ${folder} is ${surplus} bytes too long for a socket in it; use a shorter path, or start the process in or near the folder`,
  );
}

async function findOthers(
  folder: string,
  own: string,
  answerMs: number,
): Promise<(Owner & { readonly name: string })[]> {
  const names = (await readdir(folder)).filter((name) => NAME.test(name) && name !== own);
  const found = names.map(async (name) => {
    const owner = await ask(socketPath(folder, name), answerMs);
    if (owner === undefined) await rm(join(folder, name), { force: true });
    return owner && { ...owner, name };
  });
  return (await Promise.all(found)).filter((owner) => owner !== undefined);
}

function inUse(folder: string, { description }: Owner): TokenError {
  return new TokenError(
    'storage_failed',
    `database: the folder ${folder} is in use by ${description}; stop that process first, or use PostgreSQL: postgres://user:password@host:port/name`,
  );
}

async function lockByPipe(folder: string): Promise<FolderLock> {
  const { dev, ino } = await stat(folder, { bigint: true });
  const path = `\\\\.\\pipe\\tessera-${dev}-${ino}`;
  try {
    const listener = await listen(path);
    listener.hold();
    return { release: async () => listener.close() };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    throw inUse(folder, (await ask(path, ANSWER_MS)) ?? { description: 'another process', state: 'ending' });
  }
}

async function refuseNfs(folder: string): Promise<void> {
  // Some file systems cannot report it.
  if ((await statfs(folder).catch(() => undefined))?.type !== NFS) return;
  throw new TokenError(
    'storage_failed',
    `database: the folder ${folder} is on NFS, where another machine could open it too; use a folder on a local disk, a volume of the container, or PostgreSQL`,
  );
}

/** @throws {TokenError} `storage_failed` if another process holds it. */
export async function lockFolder(folder: string, answerMs: number = ANSWER_MS): Promise<FolderLock> {
  if (process.platform === 'win32') return lockByPipe(folder);
  await refuseNfs(folder);
  const name = `in-use-${randomUUID().slice(0, 8)}.sock`;
  const path = join(folder, name);
  const listener = await listen(socketPath(folder, `${name}.new`));
  const release = async (): Promise<void> => {
    listener.close();
    await rm(path, { force: true });
  };
  try {
    // Only now, because a socket that is not listened on yet looks like that of an ended process.
    await rename(`${path}.new`, path);
    const givesUpAt = performance.now() + answerMs;
    for (;;) {
      // Of two processes, the one whose socket got its name later finds the other: at most one finds nobody.
      const others = await findOthers(folder, name, answerMs);
      if (others.length === 0) break;
      // Of several that start at once, all but the one with the first name give up.
      const isFirst = (other: (typeof others)[number]): boolean => other.state === 'starting' && other.name < name;
      const owner = others.find((other) => other.state === 'holding' || isFirst(other));
      if (owner || performance.now() > givesUpAt) throw inUse(folder, owner ?? others[0]!);
      await wait(ASK_AGAIN_MS);
    }
  } catch (error) {
    await release();
    throw error;
  }
  listener.hold();
  return { release };
}
