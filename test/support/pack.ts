/** Global setup for tests of the package: packs `dist/`, which test/support/built.ts builds, once for all of them. */

import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { TestProject } from 'vitest/node';
import { root } from '../../build/dist.ts';

export interface Packed {
  readonly tarball: string;
  /** Bytes of the packed file, and of what is in it. */
  readonly size: number;
  readonly unpackedSize: number;
}

declare module 'vitest' {
  interface ProvidedContext {
    packed: Packed;
  }
}

export default async ({ provide }: TestProject): Promise<() => Promise<void>> => {
  const folder = await mkdtemp(join(tmpdir(), 'tessera-packed-'));
  const arguments_ = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder];
  const { stdout } = await promisify(execFile)('npm', arguments_, { cwd: root });
  const [{ filename, size, unpackedSize }] = JSON.parse(stdout) as [Omit<Packed, 'tarball'> & { filename: string }];
  provide('packed', { tarball: join(folder, filename), size, unpackedSize });
  return () => rm(folder, { recursive: true });
};
