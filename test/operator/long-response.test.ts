import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createMutex, longBody } from '../../src/operator/http/long-response.ts';

// Four chunks and a part of a fifth.
const CONTENT = Uint8Array.from({ length: 4 * 3 * 2 ** 16 + 5 }, (_, at) => at);

describe('a long body', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
  afterEach(() => void vi.useRealTimers());

  /** Create bodies that share a lock, and record which of them have been written. */
  const createBodies = () => {
    const mutex = createMutex();
    const written: string[] = [];
    const body = (name: string, binary = true, write = async () => CONTENT) =>
      longBody(
        mutex,
        () => {
          written.push(name);
          return write();
        },
        binary,
      );
    return { written, body };
  };
  const readAll = async (body: ReadableStream<Uint8Array>) => Buffer.from(await new Response(body).arrayBuffer());

  test('is complete, as bytes or as base64', async () => {
    const { body } = createBodies();
    expect((await readAll(body('a'))).equals(Buffer.from(CONTENT))).toBe(true);
    expect((await readAll(body('b', false))).toString()).toBe(Buffer.from(CONTENT).toString('base64'));
    expect(vi.getTimerCount()).toBe(0);
  });

  test('is not written before it is read and the lock is free', async () => {
    const { body, written } = createBodies();
    body('unread');
    const first = body('first').getReader();
    await first.read();
    const second = readAll(body('second'));
    await vi.advanceTimersByTimeAsync(1000);
    expect(written).toEqual(['first']);
    while (!(await first.read()).done);
    expect((await second).length).toBe(CONTENT.length);
    expect(written).toEqual(['first', 'second']);
  });

  test('releases the lock when its reader cancels: while reading, while it is written, or while waiting', async () => {
    const { body, written } = createBodies();
    const first = body('first').getReader();
    await first.read();
    const impatient = body('impatient').getReader();
    const waiting = impatient.read();
    let finish = (_: typeof CONTENT): void => {};
    const slow = body('slow', true, () => new Promise((resolve) => void (finish = resolve))).getReader();
    const writing = slow.read();
    const last = readAll(body('last'));
    await impatient.cancel();
    await first.cancel();
    await vi.advanceTimersByTimeAsync(0);
    expect(written).toEqual(['first', 'slow']);
    await slow.cancel();
    finish(CONTENT);
    expect((await last).length).toBe(CONTENT.length);
    expect([(await waiting).done, (await writing).done]).toEqual([true, true]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('fails for a reader that stops half-way for a minute, and releases the lock', async () => {
    const { body } = createBodies();
    const sleeper = body('sleeper').getReader();
    await sleeper.read();
    const next = readAll(body('next'));
    await vi.advanceTimersByTimeAsync(60_000);
    expect((await next).length).toBe(CONTENT.length);
    await expect(sleeper.read()).rejects.toThrow('expected the body to be read within 60 s');
  });

  test('that cannot be written fails for its own reader only', async () => {
    const { body } = createBodies();
    const broken = body('broken', true, async () => {
      throw new Error('no');
    });
    await expect(readAll(broken)).rejects.toThrow();
    expect((await readAll(body('next'))).length).toBe(CONTENT.length);
  });
});
