/** Which process this is, told so that another one can find out whether it still runs. */

import { readFile, readlink } from 'node:fs/promises';
import { hostname } from 'node:os';

/** A process. What this system does not tell is null. */
export interface ProcessIdentity {
  readonly pid: number;
  /** When it started, in the kernel's own count: tells it from a later process of the same number. */
  readonly startedAt: string | null;
  readonly host: string;
  /** Which start of the machine. */
  readonly boot: string | null;
  /** In whose count `pid` is: a container has its own. */
  readonly pidSpace: string | null;
}

const orNull = (found: Promise<string>): Promise<string | null> =>
  found.then(
    (text) => text.trim(),
    () => null,
  );

// Fields 3 and 22 of /proc/PID/stat. The name before them is in brackets, and may hold brackets and spaces itself.
const lookUp = async (pid: number): Promise<{ state: string | null; start: string | null }> => {
  const text = await orNull(readFile(`/proc/${pid}/stat`, 'utf8'));
  const fields = text?.slice(text.lastIndexOf(')') + 2).split(' ') ?? [];
  return { state: fields[0] ?? null, start: fields[19] ?? null };
};
// Dead, and only waiting for its parent to look.
const ZOMBIES = ['Z', 'X'];

/** This process. */
export async function whoIAm(): Promise<ProcessIdentity> {
  return {
    pid: process.pid,
    startedAt: (await lookUp(process.pid)).start,
    host: hostname(),
    boot: await orNull(readFile('/proc/sys/kernel/random/boot_id', 'utf8')),
    pidSpace: await orNull(readlink('/proc/self/ns/pid')),
  };
}

const answers = (pid: number): boolean => {
  try {
    // Signal 0 is none: it only asks.
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
};

/**
 * Whether a process still runs.
 *
 * @param owner     what {@link whoIAm} has said in it.
 * @param believed  the answer where it cannot be looked up from here.
 */
export async function isRunning(owner: Partial<ProcessIdentity>, believed: boolean): Promise<boolean> {
  const { pid, startedAt, host, boot, pidSpace } = owner;
  const self = await whoIAm();
  if (!Number.isSafeInteger(pid) || host !== self.host || pidSpace !== self.pidSpace) return believed;
  if (boot !== self.boot || !answers(pid!)) return false;
  const { state, start } = await lookUp(pid!);
  if (state !== null && ZOMBIES.includes(state)) return false;
  return startedAt === null || start === null || startedAt === start;
}
