#!/usr/bin/env node
/// <reference types="node" />
/**
 * The `tessera` command: connects the arguments, environment, streams and signals of the process to the commands.
 *
 * The first line has no options for Node, because BusyBox's `env` (Alpine Linux) does not split them. So Node 20, which also
 * reads an `--env-file` after the script name, ends before this file runs if that file does not exist; `--env` is ours alone.
 */

import { once } from 'node:events';
import { constants } from 'node:os';
import { createInterface } from 'node:readline';
import { addAbortSignal } from 'node:stream';
import { STOPPED } from './io.ts';

/** Longer than any command needs to stop, ms: an operator answers requests for 10 s, and 22 s if its database hangs. */
const STOP_TIMEOUT_MS = 25_000;
/** How long a reader may take for the output of a command that has stopped, ms. */
const FLUSH_TIMEOUT_MS = 1000;
const MAX_BUFFERED_BYTES = 2 ** 20;

/** A reader of the output that stalls would keep the process alive. */
function endAfter(ms: number): void {
  setTimeout(() => process.exit(process.exitCode ?? STOPPED), ms).unref();
}

/** Called at the first signal. Without one, and at the second signal, the process ends at once. */
const stopping = new Set<() => void>();
let drainMs = 0;
let isStopped = false;

function onSignal(signal: NodeJS.Signals): void {
  if (stopping.size > 0) {
    isStopped = true;
    for (const stop of stopping) stop();
    stopping.clear();
    endAfter(drainMs + STOP_TIMEOUT_MS);
    return;
  }
  process.off(signal, onSignal);
  process.kill(process.pid, signal);
  // The first process of a container is not ended by a signal.
  process.exit(128 + constants.signals[signal]);
}

/**
 * A closing terminal stops a service that writes to it, and may send the signal twice. A service with another output continues:
 * Node has restored the default action of the signal, which `nohup` had switched off.
 */
function onHangUp(): void {
  if (process.stdout.isTTY && !isStopped) onSignal('SIGHUP');
}

// Before the program is loaded, because the first process of a container ignores a signal that has no listener.
process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
const [{ reasonOf }, { run }] = await Promise.all([import('./input/paths.ts'), import('./program.ts')]);

/** Whether others rely on this process. Its outputs are only messages then. */
let isService = false;

let isOutputLost = false;

function onOutputError(error: NodeJS.ErrnoException): void {
  if (!isService) {
    // A reader such as `head` closes the pipe before the end of the output, which needs no message.
    if (error.code !== 'EPIPE') process.stderr.write(`error: could not write standard output: ${reasonOf(error)}\n`);
    process.exit(1);
  }
  if (isOutputLost) return;
  isOutputLost = true;
  process.stderr.write(`warning: standard output is lost from here on: ${reasonOf(error)}\n`);
}
process.stdout.on('error', onOutputError);
// Messages that nobody can read must not end a job either.
process.stderr.on('error', () => {});

/** Ctrl-C and Ctrl-D close the interface. Both mean no. */
async function ask(question: string): Promise<boolean> {
  // Without `terminal`, because the raw mode that it sets would lose a Ctrl-D typed before the question.
  const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: false });
  const close = () => lines.close();
  stopping.add(close);
  try {
    lines.setPrompt(`${question} [y/N] `);
    lines.prompt();
    const [answer] = await Promise.race([once(lines, 'line'), once(lines, 'close')]);
    // Ctrl-D after some characters, which readline passes on as a line.
    const isLine = answer !== undefined && !process.stdin.readableEnded;
    if (!isLine) process.stderr.write('\n');
    return isLine && /^y(?:es)?$/i.test(answer.trim());
  } finally {
    stopping.delete(close);
    close();
  }
}

/** Lines printed in one turn of the event loop are written with one system call. */
function flushOut(): void {
  while (process.stdout.writableCorked > 0) process.stdout.uncork();
}

/** A reader that stalls must not fill the memory with log lines. Results of a command are kept: it waits for their reader. */
function mayBuffer(stream: NodeJS.WriteStream): boolean {
  return stream.writableLength <= MAX_BUFFERED_BYTES || (stream === process.stdout && !isService);
}

let dropped = 0;
process.stderr.on('drain', () => {
  if (dropped > 0) process.stderr.write(`warning: ${dropped} lines were dropped, because nobody read standard error\n`);
  dropped = 0;
});

/** Undefined until a command reads it, because accessing `process.stdin` opens it. */
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
    if (mayBuffer(process.stdout)) process.stdout.write(`${line}\n`);
  },
  data: (lines) => void process.stdout.write(lines),
  err: (line) => {
    // The lines of both streams stay in order on a terminal, and in a file that receives both.
    flushOut();
    if (mayBuffer(process.stderr)) process.stderr.write(`${line}\n`);
    else dropped++;
  },
  flushed: async () => {
    if (process.stdout.writableNeedDrain) await once(process.stdout, 'drain');
  },
  terminal: process.stderr.isTTY && process.env.TERM !== 'dumb' ? process.stderr : undefined,
  outIsTerminal: process.stdout.isTTY,
  ask: process.stdin.isTTY && process.stderr.isTTY ? ask : undefined,
  serves: () => {
    isService = true;
    process.on('SIGHUP', onHangUp);
  },
  stopped: (ms = 0) => {
    drainMs = ms;
    return new Promise((resolve) => void stopping.add(resolve));
  },
});
if (isStopped) endAfter(FLUSH_TIMEOUT_MS);
// A pipe that its writer keeps open would keep this process alive after a failed command.
stdin?.destroy();
// After a failure, an open connection to the service or a database would keep this process alive.
if (process.exitCode !== 0) {
  await Promise.all([process.stdout, process.stderr].map((stream) => new Promise((done) => stream.write('', done))));
  process.exit();
}
