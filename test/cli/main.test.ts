import { type StdioOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { type Credentials, createOperator } from '../../src/operator/index.ts';
import { listen } from '../../src/operator/node.ts';
import { COMMAND } from '../support/command.ts';

const cwd = new URL('../..', import.meta.url);
const env = { PATH: process.env.PATH };

const start = (...args: string[]) =>
  spawn(process.execPath, [COMMAND, ...args], { cwd, env, stdio: ['ignore', 'pipe', 'ignore'] });

const addressOf = async (stdout: NodeJS.ReadableStream): Promise<URL> => {
  for await (const line of createInterface(stdout))
    if (line.startsWith('listening on ')) return new URL(line.slice('listening on '.length));
  throw new Error('expected an address, got the end of the output');
};

const isRefused = ({ hostname, port }: URL): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(Number(port), hostname, () => {
      socket.destroy();
      resolve(false);
    });
    socket.on('error', () => resolve(true));
  });

describe('the process of tessera', () => {
  test.each(['SIGTERM', 'SIGINT'] as const)('operator runs until %s, and then exits with 0', async (signal) => {
    const child = start('operator', '--port', '0');
    const exit = once(child, 'exit');
    const lines: string[] = [];
    for await (const line of createInterface(child.stdout)) {
      lines.push(line);
      if (!line.startsWith('listening on ')) continue;
      expect(await (await fetch(`${line.slice('listening on '.length)}/ops/healthcheck`)).text()).toBe('OK');
      child.kill(signal);
    }
    expect(await exit).toEqual([0, null]);
    expect(lines).toHaveLength(5);
  });

  test.each([
    ['stops an operator that writes to it', true, 'SIGHUP'],
    ['leaves alone an operator that writes elsewhere', false, 'SIGTERM'],
  ] as const)('a closing terminal %s', async (_, isTTY, last) => {
    const terminal = `data:text/javascript,Object.defineProperty(process.stdout,'isTTY',{value:${isTTY}})`;
    const child = spawn(process.execPath, ['--import', terminal, COMMAND, 'operator', '--port', '0'], { cwd, env });
    const exit = once(child, 'exit');
    const address = await addressOf(child.stdout);
    child.kill('SIGHUP');
    if (!isTTY) expect(await (await fetch(`${address.origin}/ops/healthcheck`)).text()).toBe('OK');
    child.kill(last);
    expect(await exit).toEqual([0, null]);
  });

  test('a signal of the other kind ends an operator at once that waits for a request to end', async () => {
    const child = start('operator', '--port', '0');
    const exit = once(child, 'exit');
    const address = await addressOf(child.stdout);
    // A request whose body never ends.
    const socket = connect(Number(address.port), address.hostname);
    socket.on('error', () => {});
    socket.write('POST /v2/token/refresh HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 100\r\n\r\nx');
    // `100 Continue`: the operator has read the request.
    await once(socket, 'data');
    child.kill('SIGINT');
    while (!(await isRefused(address)));
    child.kill('SIGTERM');
    expect(await exit).toEqual([null, 'SIGTERM']);
    socket.destroy();
  });

  test('standard output and standard error in one file keep their order', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tessera-output-'));
    const file = await open(join(folder, 'both.txt'), 'w');
    const operator = createOperator({ roles: ['MAPPER'] });
    const service = await listen(operator, { port: 0 });
    const [{ apiKey, clientSecret }] = operator.participants as [Credentials];
    const connection = { TESSERA_BASE_URL: service.url, TESSERA_API_KEY: apiKey, TESSERA_CLIENT_SECRET: clientSecret };
    const args = [COMMAND, 'buckets', '--since', '2030-01-01'];
    const stdio: StdioOptions = ['ignore', file.fd, file.fd];
    const child = spawn(process.execPath, args, { cwd, env: { ...env, ...connection }, stdio });
    expect(await once(child, 'exit')).toEqual([0, null]);
    await Promise.all([file.close(), service.close()]);
    const written = await readFile(join(folder, 'both.txt'), 'utf8');
    await rm(folder, { recursive: true });
    expect(written).toMatch(/^bucketId,rotatedAt\n0 rotated; .*\n$/);
  });

  test('an operator whose standard error is closed goes on', async () => {
    const child = spawn(process.execPath, [COMMAND, 'operator', '--port', '0'], { cwd, env });
    const exit = once(child, 'exit');
    // It writes warnings there before it listens.
    child.stderr.destroy();
    const address = await addressOf(child.stdout);
    expect(await (await fetch(`${address.origin}/ops/healthcheck`)).text()).toBe('OK');
    child.kill('SIGTERM');
    expect(await exit).toEqual([0, null]);
  });

  test('an operator whose standard output is closed, or fills a disk, goes on', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tessera-output-'));
    const path = join(folder, 'tessera.env');
    const full = await open('/dev/full', 'w');
    const child = spawn(process.execPath, [COMMAND, 'operator', '--port', '0', '--env', path], {
      cwd,
      env,
      stdio: ['ignore', full.fd, 'pipe'],
    });
    const exit = once(child, 'exit');
    const warnings: string[] = [];
    for await (const line of createInterface(child.stderr!)) {
      if (line.startsWith('warning: standard output')) warnings.push(line);
      if (warnings.length > 0) break;
    }
    expect(warnings).toEqual(['warning: standard output is lost from here on: no space left on the device']);
    const [, address] = /^TESSERA_BASE_URL='?([^'\n]+)/m.exec(await readFile(path, 'utf8')) ?? [];
    expect(await (await fetch(`${address}/ops/healthcheck`)).text()).toBe('OK');
    child.kill('SIGTERM');
    expect(await exit).toEqual([0, null]);
    await Promise.all([full.close(), rm(folder, { recursive: true })]);
  });

  // As root, a process can be started as the first one of a PID namespace, as in a container.
  test.skipIf(process.getuid?.() !== 0)(
    'SIGTERM ends the first process of a container while its database hangs during the start',
    async () => {
      const database = createServer().listen(0, '127.0.0.1');
      const connected = once(database, 'connection');
      await once(database, 'listening');
      const { port } = database.address() as AddressInfo;
      const url = `postgres://user@127.0.0.1:${port}/none`;
      const operator = [process.execPath, COMMAND, 'operator', '--port', '0', '--database', url];
      const child = spawn('unshare', ['--pid', '--fork', '--kill-child', ...operator], { cwd, env, stdio: 'ignore' });
      const exit = once(child, 'exit');
      const [socket] = await connected;
      const pid = await readFile(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8');
      process.kill(Number(pid), 'SIGTERM');
      expect(await exit).toEqual([143, null]);
      socket.destroy();
      database.close();
    },
  );

  test.each([
    [['map', '-', '--column', 'none'], 'a,b\nc,d\n'],
    [['optouts', '-'], 'not a raw ID\nnor this\n'],
  ])('%j exits after wrong input, though the pipe stays open', async (args, input) => {
    const service = {
      TESSERA_BASE_URL: 'http://127.0.0.1:1',
      TESSERA_API_KEY: 'key',
      TESSERA_CLIENT_SECRET: Buffer.alloc(32, 7).toString('base64'),
    };
    const child = spawn(process.execPath, [COMMAND, ...args], { cwd, env: { ...env, ...service } });
    const exit = once(child, 'exit');
    child.stdin.on('error', () => {});
    child.stdin.write(input);
    expect(await exit).toEqual([2, null]);
  });

  test.skipIf(process.platform !== 'linux')('output to a full disk is an error, a closed pipe is none', async () => {
    const run = (to: string) => {
      const child = spawn('sh', ['-c', `"$0" "$@" ${to}`, process.execPath, COMMAND, 'map', '--help'], {
        cwd,
        env,
      });
      return Promise.all([text(child.stderr), once(child, 'exit')]);
    };
    expect(await run('> /dev/full')).toEqual([
      'error: could not write standard output: no space left on the device\n',
      [1, null],
    ]);
    expect(await run('| head -c 1')).toEqual(['', [0, null]]);
  });
});
