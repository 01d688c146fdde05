import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createTurns, longBody } from '../../src/operator/http/long-response.ts';

/** Four chunks and a part of a fifth. */
const CONTENT = Uint8Array.from({ length: 4 * 3 * 2 ** 16 + 5 }, (_, at) => at);

describe('a long body', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
  afterEach(() => void vi.useRealTimers());

  /** Create bodies of several participants, and record which of them have been written and how they have failed. */
  const createBodies = ({ closesConnection = false } = {}) => {
    const turns = createTurns();
    const written: string[] = [];
    const failures: unknown[] = [];
    const onFailure = (error: unknown): boolean => {
      failures.push(error);
      return closesConnection;
    };
    const body = async (name: string, binary = true, write = async () => CONTENT) => {
      const turn = await turns.acquire(name);
      if (!turn) throw new Error('no turn');
      const writeAndNote = () => {
        written.push(name);
        return write();
      };
      return longBody({ turn, write: writeAndNote, binary, onFailure });
    };
    return { written, failures, body, turns };
  };
  const readAll = async (body: Promise<ReadableStream<Uint8Array>>) =>
    Buffer.from(await new Response(await body).arrayBuffer());

  test('is complete, as bytes or as base64', async () => {
    const { body } = createBodies();
    expect((await readAll(body('a'))).equals(Buffer.from(CONTENT))).toBe(true);
    expect((await readAll(body('b', false))).toString()).toBe(Buffer.from(CONTENT).toString('base64'));
    expect(vi.getTimerCount()).toBe(0);
  });

  test('is not written before it is read, and waits until nobody else has the turn', async () => {
    const { body, written } = createBodies();
    const first = await body('first');
    const second = readAll(body('second'));
    await vi.advanceTimersByTimeAsync(1000);
    expect(written).toEqual([]);
    const reader = first.getReader();
    await reader.read();
    await vi.advanceTimersByTimeAsync(1000);
    expect(written).toEqual(['first']);
    while (!(await reader.read()).done);
    expect((await second).length).toBe(CONTENT.length);
    expect(written).toEqual(['first', 'second']);
  });

  test('gives the turn back when its reader cancels: before it reads, while reading, or while it is written', async () => {
    const { body, written } = createBodies();
    await (await body('unread')).cancel();
    const first = (await body('first')).getReader();
    await first.read();
    let finish = (_: typeof CONTENT): void => {};
    const slow = body('slow', true, () => new Promise((resolve) => void (finish = resolve)));
    const last = readAll(body('last'));
    await first.cancel();
    const reader = (await slow).getReader();
    const writing = reader.read();
    expect(written).toEqual(['first', 'slow']);
    await reader.cancel();
    finish(CONTENT);
    expect((await last).length).toBe(CONTENT.length);
    expect((await writing).done).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  const TOO_SLOW = 'long response: the reader was too slow: expected reads at most 5 s apart, and 60 s in all';

  test('fails for a reader that takes nothing for 5 s, and gives the turn back', async () => {
    const { body } = createBodies();
    const sleeper = (await body('sleeper')).getReader();
    await sleeper.read();
    const next = readAll(body('next'));
    await vi.advanceTimersByTimeAsync(5000);
    expect((await next).length).toBe(CONTENT.length);
    await expect(sleeper.read()).rejects.toThrow(TOO_SLOW);
  });

  test('fails for a reader that would take more than a minute, long before the minute is over', async () => {
    const { body } = createBodies();
    const large = new Uint8Array(200 * 3 * 2 ** 16);
    const dripping = (await body('dripping', true, async () => large)).getReader();
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
    const steady = (await body('steady', true, async () => large)).getReader();
    let length = 0;
    for (let read = await steady.read(); !read.done; read = await steady.read()) {
      length += read.value.length;
      await vi.advanceTimersByTimeAsync(299);
    }
    expect(length).toBe(large.length);
  });

  test('that nobody reads gives the turn back after 5 s', async () => {
    const { body } = createBodies();
    await body('unread');
    const next = readAll(body('next'));
    await vi.advanceTimersByTimeAsync(5000);
    expect((await next).length).toBe(CONTENT.length);
  });

  test('leaves its failure to a connection that can be closed', async () => {
    const { body, failures } = createBodies({ closesConnection: true });
    const sleeper = (await body('sleeper')).getReader();
    await sleeper.read();
    await vi.advanceTimersByTimeAsync(5000);
    expect(failures).toMatchObject([{ code: 'timeout', message: TOO_SLOW }]);
    // The host cancels the stream when the connection has been closed.
    const reading = sleeper.read();
    await sleeper.cancel();
    expect((await reading).done).toBe(true);
  });

  test('waits for its turn for 30 s at most, and a participant waits with one request only', async () => {
    const { body, turns, written } = createBodies();
    let finish = (_: typeof CONTENT): void => {};
    const slow = readAll(body('slow', true, () => new Promise((resolve) => void (finish = resolve))));
    const impatient = turns.acquire('impatient');
    await vi.advanceTimersByTimeAsync(20_000);
    const patient = readAll(body('patient'));
    await vi.advanceTimersByTimeAsync(9999);
    expect(await turns.acquire('impatient')).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    expect(await impatient).toBeUndefined();
    expect(written).toEqual(['slow']);
    finish(CONTENT);
    expect((await slow).length).toBe(CONTENT.length);
    expect((await patient).length).toBe(CONTENT.length);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('comes after those of all others for a participant whose turn is less long ago', async () => {
    const { turns } = createBodies();
    const held = new Map<string, Promise<void>>();
    const order: string[] = [];
    const ask = (name: string) =>
      held.set(
        name,
        turns.acquire(name).then((turn) => {
          order.push(name);
          turn!.release();
        }),
      );
    const first = await turns.acquire('slow');
    // It asks again before all others, and so does one that was served before.
    for (const name of ['slow', 'second', 'third']) ask(name);
    first!.release();
    await Promise.all(held.values());
    expect(order).toEqual(['second', 'third', 'slow']);
    const again = await turns.acquire('second');
    for (const name of ['second', 'slow', 'new', 'third']) ask(name);
    again!.release();
    await Promise.all(held.values());
    expect(order.slice(3)).toEqual(['new', 'third', 'slow', 'second']);
  });

  test('has a turn that is given back once, however often it is released', async () => {
    const { turns } = createBodies();
    const first = await turns.acquire('first');
    const granted: string[] = [];
    const second = turns.acquire('second').then(() => granted.push('second'));
    void turns.acquire('third').then(() => granted.push('third'));
    first!.release();
    first!.release();
    await second;
    await vi.advanceTimersByTimeAsync(0);
    expect(granted).toEqual(['second']);
  });

  test('that cannot be written fails for its own reader only', async () => {
    const { body, failures } = createBodies();
    const broken = body('broken', true, async () => {
      throw new Error('no');
    });
    await expect(readAll(broken)).rejects.toThrow();
    expect(failures).toMatchObject([{ message: 'no' }]);
    expect((await readAll(body('next'))).length).toBe(CONTENT.length);
  });
});
