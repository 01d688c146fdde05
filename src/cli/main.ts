#!/usr/bin/env -S node --
/// <reference types="node" />
/**
 * The `tessera` command: connects the arguments, environment, streams and signals of the process to the commands.
 *
 * `node --`: Node 20 reads an `--env-file` after the script name as its own option, unless `--` precedes it. `--env` is ours alone.
 *
 * Exit codes: 0 done; 1 the service refused or could not start, or a check failed; 2 wrong usage; 130 stopped by a signal.
 */

import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { addAbortSignal } from 'node:stream';
import { reasonOf } from './paths.ts';
import { run } from './program.ts';

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // A reader such as `head` closes the pipe before the end of the output, which needs no message.
  if (error.code !== 'EPIPE') process.stderr.write(`error: could not write standard output: ${reasonOf(error)}\n`);
  process.exit(1);
});
// Messages that nobody can read must not end a job.
process.stderr.on('error', () => {});

// Ctrl-C and Ctrl-D close the interface. Both mean no.
const ask = async (question: string): Promise<boolean> => {
  // Without `terminal`, because the raw mode that it sets would lose a Ctrl-D typed before the question.
  const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: false });
  const close = () => lines.close();
  process.once('SIGINT', close);
  try {
    lines.setPrompt(`${question} [y/N] `);
    lines.prompt();
    const [answer] = await Promise.race([once(lines, 'line'), once(lines, 'close')]);
    // Ctrl-D after some characters, which readline passes on as a line.
    const isLine = answer !== undefined && !process.stdin.readableEnded;
    if (!isLine) process.stderr.write('\n');
    return isLine && /^y(?:es)?$/i.test(answer.trim());
  } finally {
    process.off('SIGINT', close);
    close();
  }
};

// Lines printed in one turn of the event loop are written with one system call.
const flushOut = (): void => {
  while (process.stdout.writableCorked > 0) process.stdout.uncork();
};

// Undefined until a command reads it, because accessing `process.stdin` opens it.
let stdin: typeof process.stdin | undefined;

process.exitCode = await run(process.argv.slice(2), {
  env: process.env,
  stdin: (signal) => {
    stdin = process.stdin;
    return signal ? addAbortSignal(signal, stdin) : stdin;
  },
  out: (line) => {
    if (process.stdout.writableCorked === 0) {
      process.stdout.cork();
      process.nextTick(flushOut);
    }
    process.stdout.write(`${line}\n`);
  },
  err: (line) => {
    // The lines of both streams stay in order on a terminal, and in a file that receives both.
    flushOut();
    process.stderr.write(`${line}\n`);
  },
  flushed: async () => {
    if (process.stdout.writableNeedDrain) await once(process.stdout, 'drain');
  },
  terminal: process.stderr.isTTY && process.env.TERM !== 'dumb' ? process.stderr : undefined,
  outIsTerminal: process.stdout.isTTY,
  ask: process.stdin.isTTY && process.stderr.isTTY ? ask : undefined,
  // Both listeners are removed at the first signal, so that a second signal of either kind ends the process at once.
  stopped: async () => {
    const received = new AbortController();
    const { signal } = received;
    await Promise.race([once(process, 'SIGINT', { signal }), once(process, 'SIGTERM', { signal })]);
    received.abort();
  },
});
// A pipe that its writer keeps open would keep this process alive after a failed command.
stdin?.destroy();
// After a failure, an open connection to the service or a database would keep this process alive. A process of `--processes` ends
// without this, once its parent has received its last message.
if (process.exitCode !== 0 && process.send === undefined) {
  await Promise.all([process.stdout, process.stderr].map((stream) => new Promise((done) => stream.write('', done))));
  process.exit();
}
