/** Finds the processes of a browser that a test has started, to stop or end them. Linux only. */

import { readdir, readFile } from 'node:fs/promises';

/** Return a process and its descendants, with their names (at most 15 characters). */
export const processesBelow = async (pid: number): Promise<{ readonly pid: number; readonly name: string }[]> => {
  const ids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const stats = await Promise.all(ids.map((id) => readFile(`/proc/${id}/stat`, 'utf8').catch(() => '')));
  // `pid (name) state parent ...`
  const all = stats.flatMap((stat) => {
    const [, id, name, parent] = stat.match(/^(\d+) \((.*)\) \S (\d+)/) ?? [];
    return id ? [{ pid: Number(id), name: name!, parent: Number(parent) }] : [];
  });
  const found = all.filter((each) => each.pid === pid);
  // The list grows while it is walked.
  for (const { pid: parent } of found) found.push(...all.filter((each) => each.parent === parent));
  return found;
};
