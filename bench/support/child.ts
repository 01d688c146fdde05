/** Programs beside the bench, in processes of their own: a server that is measured, or a job whose memory is. */

import { fork } from 'node:child_process';

export interface Child<Said> {
  /** The one message of the child, once it is ready or done. */
  readonly said: Said;
  /** Share of one core that it has used since it was last asked, 0 to 1 or a little more (threads, garbage collection). */
  busy(): Promise<number>;
  stop(): void;
}

/** In a child: say what there is to say, and answer questions after the CPU time. */
export const say = (said: unknown): void => {
  // The bench has gone, however it went.
  process.on('disconnect', () => process.exit());
  process.on('message', () => process.send!(process.cpuUsage()));
  process.send!(said);
};

/**
 * Start a program of this folder and wait for its message.
 *
 * @param execArgv  more flags for Node.
 */
export const start = async <Said>(
  file: string,
  args: readonly (string | number)[] = [],
  execArgv: readonly string[] = [],
): Promise<Child<Said>> => {
  const child = fork(new URL(file, import.meta.url), args.map(String), {
    execArgv: [...process.execArgv, ...execArgv],
  });
  const next = <T>(): Promise<T> =>
    new Promise((resolve, reject) => {
      const fail = (code: number | null) => reject(new Error(`${file}: ended with ${code}`));
      child.once('exit', fail);
      child.once('message', (message) => {
        child.off('exit', fail);
        resolve(message as T);
      });
    });
  const said = await next<Said>();
  let before = { at: performance.now(), used: 0 };
  return {
    said,
    busy: async () => {
      child.send('cpu');
      const { user, system } = await next<NodeJS.CpuUsage>();
      const now = { at: performance.now(), used: (user + system) / 1000 };
      const share = (now.used - before.used) / (now.at - before.at);
      before = now;
      return share;
    },
    stop: () => child.kill('SIGKILL'),
  };
};
