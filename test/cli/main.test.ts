import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { describe, expect, test } from 'vitest';

const start = (...args: string[]) =>
  spawn(process.execPath, ['--import', 'tsx', 'src/cli/main.ts', ...args], {
    cwd: new URL('../..', import.meta.url),
    env: { PATH: process.env.PATH },
    stdio: ['ignore', 'pipe', 'ignore'],
  });

describe('the process of tessera', () => {
  test.each(['SIGTERM', 'SIGINT'] as const)(
    'operator runs until %s, and then exits with 0',
    async (signal) => {
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
    },
    20_000,
  );

  test('wrong use exits with 2', async () => {
    const [code] = await once(start('operator', '--port', 'x'), 'exit');
    expect(code).toBe(2);
  }, 20_000);
});
