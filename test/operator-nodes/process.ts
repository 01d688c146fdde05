/** Starts, calls, stops and kills operator nodes in their own processes, with the command of `src/cli`. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach } from 'vitest';
import type { Credentials } from '../../src/operator/index.ts';
import { ALL_ROLES, type Calls, createCalls } from '../operator/fixtures.ts';
import { COMMAND } from '../support/command.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The participant of a node for which a test names no other. For tests only. */
export const PARTICIPANT = {
  apiKey: 'UID2-C-I-101-nodes0.of-the-tests',
  clientSecret: Buffer.alloc(32, 9).toString('base64'),
  siteId: 101,
  roles: ['GENERATOR'],
} satisfies Credentials;

const children: ChildProcess[] = [];
afterEach(async () => {
  for (const child of children.splice(0))
    if (child.exitCode === null && child.kill('SIGKILL')) await once(child, 'exit');
});

export interface ExitResult {
  readonly code: number | null;
  readonly out: string[];
  readonly err: string;
}

export interface Node extends Calls {
  readonly url: string;
  readonly out: readonly string[];
  stop(): Promise<ExitResult>;
  kill(): Promise<ExitResult>;
}

/** The environment variables that give a node its participant. */
export const GIVEN = { TESSERA_API_KEY: PARTICIPANT.apiKey, TESSERA_CLIENT_SECRET: PARTICIPANT.clientSecret };

const run = (args: readonly string[], env: Record<string, string>) => {
  const command = [COMMAND, 'operator', '--port', '0', '--log-level', 'error', '--roles', ALL_ROLES.join(), ...args];
  const { PATH = '' } = process.env;
  const child = spawn(process.execPath, command, {
    cwd: root,
    env: { PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  const out: string[] = [];
  let err = '';
  child.stderr.on('data', (text) => {
    err += text;
  });
  const lines = createInterface({ input: child.stdout });
  const listening = new Promise<string>((resolve) => {
    lines.on('line', (line) => {
      out.push(line);
      if (line.startsWith('listening on ')) resolve(line.slice('listening on '.length));
    });
  });
  const ended = once(child, 'close').then((): ExitResult => ({ code: child.exitCode, out, err }));
  return { child, out, listening, ended };
};

export const startNode = async (args: readonly string[], env: Record<string, string> = GIVEN): Promise<Node> => {
  const { child, out, listening, ended } = run(args, env);
  const url = await Promise.race([
    listening,
    ended.then(({ err }) => {
      throw new Error(`startNode: expected the node to listen, got: ${err}`);
    }),
  ]);
  const end = (signal: NodeJS.Signals): Promise<ExitResult> => {
    child.kill(signal);
    return ended;
  };
  return {
    url,
    out,
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
    ...createCalls((path, init) => fetch(url + path, init), PARTICIPANT, Date.now),
  };
};

/** Start a node that is expected to fail. If it listens instead it is killed, and has no exit code. */
export const failNode = (args: readonly string[], env: Record<string, string> = GIVEN): Promise<ExitResult> => {
  const { child, listening, ended } = run(args, env);
  void listening.then(() => child.kill('SIGKILL'));
  return ended;
};
