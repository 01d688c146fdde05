/**
 * PGlite's files, written as a database writes: what is committed is on the disk, and nobody else may read it.
 *
 * PGlite starts PostgreSQL with `-F`, which turns fsync off, and its file system answers fsync without doing anything:
 * a killed process loses nothing, a power cut may lose or tear anything. So fsync is turned on, and given a meaning. It
 * unpacks most files with leave for everybody to read and write them: that is taken away. Tests count the calls and look
 * at the modes: this reaches into PGlite's file system, whose shape is nobody's promise.
 */

import { closeSync, fsyncSync, openSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { loadPglite } from './packages.ts';

type Pglite = Awaited<ReturnType<typeof loadPglite>>;

/** An open file of Emscripten's NODEFS: `nfd` is the descriptor in Node, which folders have none of. */
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

const syncPath = (path: string): void => {
  // There a folder cannot be opened, and need not be.
  if (process.platform === 'win32') return;
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
};

// The owner's bits, and those that say what it is.
const OWNERS = ~0o077;

const keepPrivate = ({ node_ops: ops }: NodeFiles): void => {
  const { mknod, setattr } = ops;
  ops.mknod = (parent, name, mode, device) => mknod(parent, name, mode & OWNERS, device);
  ops.setattr = (node, attributes) =>
    setattr(node, typeof attributes.mode === 'number' ? { ...attributes, mode: attributes.mode & OWNERS } : attributes);
};

/** Options of PGlite for a folder whose commits are on the disk when they are acknowledged, and private. */
export function durable({ PGlite, NodeFS }: Pglite, folder: string) {
  const files = new NodeFS(folder);
  const init = files.init.bind(files);
  files.init = async (...args) => {
    const made = await init(...args);
    made.emscriptenOpts.preRun?.push((module) => {
      const { NODEFS } = module as unknown as { NODEFS: NodeFiles };
      keepPrivate(NODEFS);
      NODEFS.stream_ops.fsync = ({ nfd, node }) => {
        if (nfd === undefined) syncPath(NODEFS.realPath(node));
        else fsyncSync(nfd);
        return 0;
      };
    });
    return made;
  };
  return {
    fs: files,
    startParams: [
      ...PGlite.defaultStartParams.filter((param) => param !== '-F'),
      // Its fdatasync never reaches the file system.
      ...['-c', 'wal_sync_method=fsync'],
    ],
  };
}

/** Put a folder on the disk, with all that is in it and its own name. */
export async function syncFolder(folder: string): Promise<void> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  for (const entry of found) syncPath(join(entry.parentPath, entry.name));
  syncPath(folder);
  syncPath(dirname(folder));
}
