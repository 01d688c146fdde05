/** An operator whose log nobody reads: the pipe of standard error is full. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { COMMAND } from '../support/command.ts';

const start = async () => {
  const child = spawn(process.execPath, [COMMAND, 'operator', '--port', '0'], { env: {} });
  const exit = once(child, 'exit');
  for await (const line of createInterface(child.stdout))
    if (line.startsWith('listening on ')) return { child, exit, address: new URL(line.slice('listening on '.length)) };
  throw new Error('expected an address, got the end of the output');
};
/** How many requests a connection sends before it reads an answer; the operator accepts 32. */
const AT_ONCE = 30;
/** Send requests, and wait until all of them have been answered. */
const sendRequests = async ({ hostname, port }: URL, count: number): Promise<void> => {
  const last = 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
  for (let sent = 0; sent < count; sent += AT_ONCE) {
    const socket = connect(Number(port), hostname);
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(AT_ONCE - 1) + last);
    socket.resume();
    await once(socket, 'close');
  }
};

test('it drops lines, and says how many once they are read again', async () => {
  const { child, exit, address } = await start();
  await sendRequests(address, 15_000);
  let [logged, dropped] = [0, 0];
  for await (const line of createInterface(child.stderr)) {
    if (line.includes('"answered"')) logged++;
    dropped = Number(/^warning: (\d+) lines were dropped/.exec(line)?.[1] ?? 0);
    if (dropped > 0) break;
  }
  expect(logged + dropped).toBe(15_000);
  child.kill('SIGTERM');
  expect(await exit).toEqual([0, null]);
});

test('it ends after a signal', async () => {
  const { child, exit, address } = await start();
  await sendRequests(address, 5000);
  child.kill('SIGTERM');
  expect(await exit).toEqual([0, null]);
});
