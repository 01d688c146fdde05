/// <reference types="node" />
/**
 * The number of cores that this process may use. Node counts those that the system assigns, but its older versions ignore the CPU
 * quota of a container or a service, which is a property of its control group or of one around it.
 */

import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

const MOUNT = '/sys/fs/cgroup';

/** Return the content of a file; undefined if it cannot be read. */
function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

/** A group and those around it. In a container, the path may be that of the host, but the root is that of the container. */
function withParents(path: string): string[] {
  const names = path.split('/').filter(Boolean);
  return [...names.map((_, at) => `/${names.slice(0, at + 1).join('/')}`), ''];
}

/**
 * Return the number of cores, at least 1: of a fraction, the whole cores.
 *
 * @param cores  those that the system assigns.
 * @param read   returns the content of a file; undefined if there is none.
 */
export function availableCores(cores = availableParallelism(), read = readText): number {
  const quotas = (read('/proc/self/cgroup') ?? '').split('\n').flatMap((line) => {
    // `0::/path` in version 2, `4:cpu,cpuacct:/path` in version 1.
    const [, controllers, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    if (path === undefined) return [];
    if (controllers === '') return withParents(path).map((group) => read(`${MOUNT}${group}/cpu.max`)?.split(' '));
    if (!controllers!.split(',').includes('cpu')) return [];
    return withParents(path).map((group) =>
      ['quota', 'period'].map((name) => read(`${MOUNT}/cpu${group}/cpu.cfs_${name}_us`)),
    );
  });
  // Without a limit, the quota is `max` or -1.
  const limits = quotas.map((quota) => Number(quota?.[0]) / Number(quota?.[1])).filter((limit) => limit > 0);
  return Math.max(1, Math.floor(Math.min(cores, ...limits)));
}
