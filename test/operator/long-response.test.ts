import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createLongResponses } from '../../src/operator/http/long-response.ts';

const createNode = () => {
  const warnings: string[] = [];
  const log = { info: () => {}, warn: (_: object, message: string) => void warnings.push(message), error: () => {} };
  const longResponse = createLongResponses(log);
  const limits: number[] = [];
  /** To be called by the test when the host has sent the answer, or with false when it has closed the connection. */
  let sent = (_: boolean): void => {};
  const sentWithin = (ms: number) => {
    limits.push(ms);
    return new Promise<boolean>((resolve) => void (sent = resolve));
  };
  const request = async (generate = async () => new Response('list'), caller = { sentWithin }) =>
    (await longResponse(caller, generate))?.text();
  const end = (isSent: boolean) => {
    sent(isSent);
    return turn();
  };
  return { warnings, limits, request, end };
};

test('a second long response is refused while the first is generated and until it has been sent', async () => {
  const { request, end, limits, warnings } = createNode();
  let finish = (_: Response): void => {};
  const first = request(() => new Promise((resolve) => void (finish = resolve)));
  expect(await request()).toBeUndefined();
  expect(limits).toEqual([]);
  finish(new Response('first'));
  expect([await first, await request(), limits]).toEqual(['first', undefined, [60_000]]);
  await end(true);
  expect([await request(), warnings]).toEqual(['list', []]);
});

test('a long response that is not read in time is cut off, which is logged, and the next one is generated', async () => {
  const { request, end, warnings } = createNode();
  await request();
  await end(false);
  expect(await request()).toBe('list');
  expect(warnings).toEqual(['a long response was cut off, because it was not read within 60 s']);
});

test('a long response that fails is followed by the next one as soon as its error has been sent', async () => {
  const { request, end } = createNode();
  await expect(
    request(async () => {
      throw new Error('no');
    }),
  ).rejects.toThrow('no');
  expect(await request()).toBeUndefined();
  await end(true);
  expect(await request()).toBe('list');
});
