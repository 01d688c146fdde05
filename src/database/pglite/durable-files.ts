/**
 * Makes the files of PGlite durable and private. PGlite starts PostgreSQL with `-F`, which disables fsync, and the fsync of its
 * file system does nothing, so a power failure may damage any file. It also creates most files readable and writable for
 * everybody.
 *
 * This patches PGlite's internal file system, which is not documented: tests count the fsync calls and check the modes, and
 * `packages.ts` refuses other series. With a bundled PGlite, whose version is unknown, the bundler is responsible.
 */

import { closeSync, fsyncSync, openSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { TokenError } from '../../token/errors.ts';
import type { PGlitePackage } from '../packages.ts';

/** An open file of Emscripten's NODEFS. `nfd` is the descriptor in Node; folders have none. */
interface Stream {
  readonly nfd?: number;
  readonly node: unknown;
}
interface Attributes {
  readonly mode?: number | null;
}
interface NodeFiles {
  realPath(node: unknown): string;
  readonly node_ops: {
    mknod(parent: unknown, name: string, mode: number, device: number): unknown;
    setattr(node: unknown, attributes: Attributes): void;
  };
  readonly stream_ops: { fsync?: (stream: Stream) => number };
}

/** Errors of a file system that cannot sync a folder: SMB, and folders that a virtual machine or a container shares with its host. */
const NO_SYNC = new Set(['EINVAL', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EPERM', 'EACCES', 'EBADF', 'EIO']);

function syncPath(path: string): void {
  // Windows cannot open a folder, and does not need to sync one.
  if (process.platform === 'win32') return;
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/**
 * An error in the middle of a commit would look like a damaged database. `sync` is for tests: such file systems need a server.
 *
 * @throws {TokenError} `storage_failed` that says what to use instead.
 */
export function checkSync(folder: string, sync: (path: string) => void = syncPath): void {
  try {
    sync(folder);
  } catch (error) {
    const { code = '', syscall } = error as NodeJS.ErrnoException;
    if (syscall !== 'fsync' || !NO_SYNC.has(code)) throw error;
    throw new TokenError(
      'storage_failed',
      `database: the file system of ${folder} cannot make commits durable (fsync ${code}), as on SMB and shared folders; use a folder on a local disk, a volume of the container, or PostgreSQL`,
    );
  }
}

/** The owner's permissions and the file type. */
const OWNER_BITS = ~0o077;

function keepPrivate({ node_ops: ops }: NodeFiles): void {
  const { mknod, setattr } = ops;
  ops.mknod = (parent, name, mode, device) => mknod(parent, name, mode & OWNER_BITS, device);
  ops.setattr = (node, attributes) =>
    setattr(
      node,
      typeof attributes.mode === 'number' ? { ...attributes, mode: attributes.mode & OWNER_BITS } : attributes,
    );
}

function keepDurable(files: NodeFiles): void {
  files.stream_ops.fsync = ({ nfd, node }) => {
    if (nfd === undefined) syncPath(files.realPath(node));
    else fsyncSync(nfd);
    return 0;
  };
}

export function durableOptions({ PGlite, NodeFS }: Pick<PGlitePackage, 'PGlite' | 'NodeFS'>, folder: string) {
  const files = new NodeFS(folder);
  const init = files.init.bind(files);
  files.init = async (...args) => {
    const result = await init(...args);
    result.emscriptenOpts.preRun!.push((module) => {
      const { NODEFS } = module as unknown as { NODEFS: NodeFiles };
      keepPrivate(NODEFS);
      keepDurable(NODEFS);
    });
    return result;
  };
  return {
    fs: files,
    startParams: [
      ...PGlite.defaultStartParams.filter((param) => param !== '-F'),
      // PGlite does not pass fdatasync to the file system.
      ...['-c', 'wal_sync_method=fsync'],
      // The timer of this log would keep the process alive if the start fails.
      ...['-c', 'log_startup_progress_interval=0'],
    ],
  };
}

export async function syncFolder(folder: string): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  for (const entry of entries) syncPath(join(entry.parentPath, entry.name));
  syncPath(folder);
  syncPath(dirname(folder));
}
