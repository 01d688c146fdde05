/** The parent of `tessera operator --processes`, with processes that are none: what it leaves running when it stops. */

import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Io } from '../../src/cli/io.ts';
import { runProcesses } from '../../src/cli/operator/processes/parent.ts';

/** One process, which listens, and ends when the test says so. */
const handle = vi.hoisted(() => {
  let end = (_: string) => {};
  const ended = new Promise<string>((resolve) => {
    end = resolve;
  });
  return { ended, ends: () => end('exit code 1') };
});
vi.mock('../../src/cli/operator/processes/worker-handle.ts', () => ({
  forkWorker: () => Object.assign(new EventEmitter(), { id: 1 }),
  tell: () => {},
  afterLastMessage: () => {},
  exitOf: () => handle.ended,
  answerOf: async () => ({ type: 'listening', lines: [], address: 'listening on somewhere' }),
}));

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Wait without moving the timers, as `vi.waitFor` would. */
const until = async (isDone: () => boolean): Promise<void> => {
  while (!isDone()) await new Promise((resolve) => setImmediate(resolve));
};

test('a group that stops while it waits to start a process again leaves no timer behind', async () => {
  let stop = () => {};
  const stopped = new Promise<void>((resolve) => {
    stop = resolve;
  });
  const said: string[] = [];
  const io: Io = {
    env: {},
    stdin: async function* () {},
    out: (line) => said.push(line),
    err: (line) => said.push(line),
    data: () => {},
    flushed: async () => {},
    stopped: () => stopped,
  };
  const running = runProcesses(1, { database: './nowhere' }, {}, io);
  await until(() => said.includes('listening on somewhere'));
  handle.ends();
  await until(() => vi.getTimerCount() === 1);
  stop();
  await running;
  expect(vi.getTimerCount()).toBe(0);
});
