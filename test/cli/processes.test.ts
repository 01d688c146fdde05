/** The parent of `tessera operator --processes`, with processes that are none: what it leaves running when it stops. */

import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Io } from '../../src/cli/io.ts';
import { runProcesses } from '../../src/cli/processes/parent.ts';
import { pause } from '../../src/cli/processes/pause.ts';

// One process, which listens, and ends when the test says so.
const handle = vi.hoisted(() => {
  let end = (_: string) => {};
  const ended = new Promise<string>((resolve) => {
    end = resolve;
  });
  return { ended, ends: () => end('exit code 1') };
});
vi.mock('../../src/cli/processes/worker-handle.ts', () => ({
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

test('a pause ends after its time, at the signal, and at once if the signal came before', async () => {
  const ended: string[] = [];
  const controller = new AbortController();
  const { signal } = controller;
  const whole = pause(1_000, signal).then(() => ended.push('whole'));
  const cut = pause(30_000, signal).then(() => ended.push('cut'));
  await vi.advanceTimersByTimeAsync(1_000);
  expect(ended).toEqual(['whole']);
  controller.abort();
  await Promise.all([whole, cut, pause(30_000, signal)]);
  expect([ended, vi.getTimerCount()]).toEqual([['whole', 'cut'], 0]);
});
