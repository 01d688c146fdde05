/**
 * Identifies a process, so that another process can check whether it is still running.
 */

import { readFile, readlink } from 'node:fs/promises';
import { hostname } from 'node:os';

/** A process. Fields that the system does not provide are null (`/proc` exists only on Linux). */
export interface ProcessIdentity {
  readonly pid: number;
  /** Start time in the kernel's clock ticks. It distinguishes the process from a later one with the same number. */
  readonly startedAt: string | null;
  readonly host: string;
  /** ID of the machine's boot. */
  readonly boot: string | null;
  /** PID namespace of `pid`. Each container has its own. */
  readonly pidSpace: string | null;
}

function orNull(found: Promise<string>): Promise<string | null> {
  return found.then(
    (text) => text.trim(),
    () => null,
  );
}

/** Fields 3 and 22 of /proc/PID/stat. The name before them is in parentheses and may itself contain parentheses and spaces. */
async function readStat(pid: number): Promise<{ state: string | null; start: string | null }> {
  const text = await orNull(readFile(`/proc/${pid}/stat`, 'utf8'));
  const fields = text?.slice(text.lastIndexOf(')') + 2).split(' ') ?? [];
  return { state: fields[0] ?? null, start: fields[19] ?? null };
}

/** The process has ended, but its parent has not read its exit code yet. */
const ENDED_STATES = ['Z', 'X'];

/** Identify this process. */
export async function currentProcess(): Promise<ProcessIdentity> {
  return {
    pid: process.pid,
    startedAt: (await readStat(process.pid)).start,
    host: hostname(),
    boot: await orNull(readFile('/proc/sys/kernel/random/boot_id', 'utf8')),
    pidSpace: await orNull(readlink('/proc/self/ns/pid')),
  };
}

function exists(pid: number): boolean {
  try {
    // Signal 0 sends nothing. It only checks that the process exists.
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * The state of a process.
 *
 * - `unknown`: it cannot be checked, because it ran on another machine or in another container, or because the system does not
 *   report when a process started, so that its number may belong to a later one.
 * - `rebooted`: the machine has been rebooted since, or it is a different one with the same name.
 */
export type ProcessState = 'running' | 'ended' | 'rebooted' | 'unknown';

/** Determine the state of a process. `owner` is the result of {@link currentProcess} in that process. */
export async function stateOf(owner: Partial<ProcessIdentity>): Promise<ProcessState> {
  const { pid, startedAt, host, boot, pidSpace } = owner;
  const self = await currentProcess();
  if (!Number.isSafeInteger(pid) || host !== self.host || pidSpace !== self.pidSpace) return 'unknown';
  if (boot !== self.boot) return 'rebooted';
  if (!exists(pid!)) return 'ended';
  const { state, start } = await readStat(pid!);
  if (state !== null && ENDED_STATES.includes(state)) return 'ended';
  if (startedAt === null || start === null) return 'unknown';
  return startedAt === start ? 'running' : 'ended';
}
