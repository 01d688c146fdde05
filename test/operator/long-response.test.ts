import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createMutex, longBody } from '../../src/operator/http/long-response.ts';

// Four pieces and a bit.
const WHOLE = Uint8Array.from({ length: 4 * 3 * 2 ** 16 + 5 }, (_, at) => at);

describe('a long answer', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
  afterEach(() => void vi.useRealTimers());

  /** Bodies that share turns, and a note of which of them have been written. */
  const bodies = () => {
    const turns = createMutex();
    const written: string[] = [];
    const body = (name: string, binary = true, write = async () => WHOLE) =>
      longBody(
        turns,
        () => {
          written.push(name);
          return write();
        },
        binary,
      );
    return { written, body };
  };
  const all = async (body: ReadableStream<Uint8Array>) => Buffer.from(await new Response(body).arrayBuffer());

  test('arrives whole, as bytes or as base64', async () => {
    const { body } = bodies();
    expect((await all(body('a'))).equals(Buffer.from(WHOLE))).toBe(true);
    expect((await all(body('b', false))).toString()).toBe(Buffer.from(WHOLE).toString('base64'));
    expect(vi.getTimerCount()).toBe(0);
  });

  test('is not written before somebody reads it, nor before its turn', async () => {
    const { body, written } = bodies();
    body('unread');
    const first = body('first').getReader();
    await first.read();
    const second = all(body('second'));
    await vi.advanceTimersByTimeAsync(1000);
    expect(written).toEqual(['first']);
    while (!(await first.read()).done);
    expect((await second).length).toBe(WHOLE.length);
    expect(written).toEqual(['first', 'second']);
  });

  test('gives its turn away when it is given up: under way, while it is written, or before its turn', async () => {
    const { body, written } = bodies();
    const first = body('first').getReader();
    await first.read();
    const impatient = body('impatient').getReader();
    const waiting = impatient.read();
    let finish = (_: typeof WHOLE): void => {};
    const slow = body('slow', true, () => new Promise((resolve) => void (finish = resolve))).getReader();
    const writing = slow.read();
    const last = all(body('last'));
    await impatient.cancel();
    await first.cancel();
    await vi.advanceTimersByTimeAsync(0);
    expect(written).toEqual(['first', 'slow']);
    await slow.cancel();
    finish(WHOLE);
    expect((await last).length).toBe(WHOLE.length);
    expect([(await waiting).done, (await writing).done]).toEqual([true, true]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('fails a reader who stops half-way for a minute, and goes on to the next', async () => {
    const { body } = bodies();
    const sleeper = body('sleeper').getReader();
    await sleeper.read();
    const next = all(body('next'));
    await vi.advanceTimersByTimeAsync(60_000);
    expect((await next).length).toBe(WHOLE.length);
    await expect(sleeper.read()).rejects.toThrow('expected the answer to be read in time');
  });

  test('that cannot be written fails its reader alone', async () => {
    const { body } = bodies();
    const broken = body('broken', true, async () => {
      throw new Error('no');
    });
    await expect(all(broken)).rejects.toThrow();
    expect((await all(body('next'))).length).toBe(WHOLE.length);
  });
});
