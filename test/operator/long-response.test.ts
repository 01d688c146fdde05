import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createTurns, longBody } from '../../src/operator/http/long-response.ts';

// Four chunks and a part of a fifth.
const CONTENT = Uint8Array.from({ length: 4 * 3 * 2 ** 16 + 5 }, (_, at) => at);

describe('a long body', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
  afterEach(() => void vi.useRealTimers());

  /** Create bodies of several participants, and record which of them have been written. */
  const createBodies = () => {
    const turns = createTurns();
    const written: string[] = [];
    const body = (name: string, binary = true, write = async () => CONTENT) =>
      longBody(
        turns.claim(name)!,
        () => {
          written.push(name);
          return write();
        },
        binary,
      );
    return { written, body, turns };
  };
  const readAll = async (body: ReadableStream<Uint8Array>) => Buffer.from(await new Response(body).arrayBuffer());

  test('is complete, as bytes or as base64', async () => {
    const { body } = createBodies();
    expect((await readAll(body('a'))).equals(Buffer.from(CONTENT))).toBe(true);
    expect((await readAll(body('b', false))).toString()).toBe(Buffer.from(CONTENT).toString('base64'));
    expect(vi.getTimerCount()).toBe(0);
  });

  test('is not written before it is read and nobody else has the turn', async () => {
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

  test('gives the turn back when its reader cancels: while reading, while it is written, or while waiting', async () => {
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

  const TOO_SLOW = 'expected reads at most 5 s apart, and 60 s in all';

  test('fails for a reader that takes nothing for 5 s, and gives the turn back', async () => {
    const { body } = createBodies();
    const sleeper = body('sleeper').getReader();
    await sleeper.read();
    const next = readAll(body('next'));
    await vi.advanceTimersByTimeAsync(5000);
    expect((await next).length).toBe(CONTENT.length);
    await expect(sleeper.read()).rejects.toThrow(TOO_SLOW);
  });

  test('fails for a reader that would take more than a minute, long before the minute is over', async () => {
    const { body } = createBodies();
    const large = new Uint8Array(200 * 3 * 2 ** 16);
    const dripping = body('dripping', true, async () => large).getReader();
    const next = readAll(body('next'));
    let reads = 0;
    const drip = async (): Promise<void> => {
      for (; ; reads++) {
        await dripping.read();
        await vi.advanceTimersByTimeAsync(2000);
      }
    };
    await expect(drip()).rejects.toThrow(TOO_SLOW);
    // A read every 0.3 s would be fast enough.
    expect(reads).toBe(3);
    expect((await next).length).toBe(CONTENT.length);
  });

  test('is read to its end by a reader that takes just less than a minute', async () => {
    const { body } = createBodies();
    const large = new Uint8Array(200 * 3 * 2 ** 16);
    const steady = body('steady', true, async () => large).getReader();
    let length = 0;
    for (let read = await steady.read(); !read.done; read = await steady.read()) {
      length += read.value.length;
      await vi.advanceTimersByTimeAsync(299);
    }
    expect(length).toBe(large.length);
  });

  test('that nobody reads frees its participant after 5 s', async () => {
    const { body, turns } = createBodies();
    body('unread');
    expect(turns.claim('unread')).toBeUndefined();
    await vi.advanceTimersByTimeAsync(5000);
    expect(turns.claim('unread')).toBeDefined();
  });

  test('waits for its turn as long as it takes, and a participant waits with one body only', async () => {
    const { body, turns, written } = createBodies();
    let finish = (_: typeof CONTENT): void => {};
    const slow = readAll(body('slow', true, () => new Promise((resolve) => void (finish = resolve))));
    const patient = readAll(body('patient'));
    await vi.advanceTimersByTimeAsync(50_000);
    expect(written).toEqual(['slow']);
    expect(turns.claim('patient')).toBeUndefined();
    finish(CONTENT);
    expect((await slow).length).toBe(CONTENT.length);
    expect((await patient).length).toBe(CONTENT.length);
    expect(turns.claim('patient')).toBeDefined();
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
