/** Programs in their own processes: a server that is measured, or a job whose memory is measured. */

import { fork } from 'node:child_process';

export interface Child<Message> {
  /** The only message of the child, sent when it is ready or done. */
  readonly message: Message;
  /** Share of one core used since the last call: 0 to 1, or slightly more (threads, garbage collection). */
  busy(): Promise<number>;
  stop(): void;
}

/** In a child: send its message, and answer requests for the CPU time. */
export const report = (message: unknown): void => {
  // The benchmark has ended, for whatever reason.
  process.on('disconnect', () => process.exit());
  process.on('message', () => process.send!(process.cpuUsage()));
  process.send!(message);
};

/**
 * Start a program of this folder and wait for its message.
 *
 * @param execArgv  more flags for Node.
 */
export const start = async <Message>(
  file: string,
  args: readonly (string | number)[] = [],
  execArgv: readonly string[] = [],
): Promise<Child<Message>> => {
  const child = fork(new URL(file, import.meta.url), args.map(String), {
    execArgv: [...process.execArgv, ...execArgv],
  });
  const next = <T>(): Promise<T> =>
    new Promise((resolve, reject) => {
      const fail = (code: number | null) => reject(new Error(`${file}: ended with ${code}`));
      child.once('exit', fail);
      child.once('message', (received) => {
        child.off('exit', fail);
        resolve(received as T);
      });
    });
  const message = await next<Message>();
  let before = { at: performance.now(), used: 0 };
  return {
    message,
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
