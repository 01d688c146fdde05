#!/usr/bin/env node
/// <reference types="node" />
/**
 * The `tessera` command: connects the arguments, environment, streams and signals of the process to the verbs.
 *
 * Exit codes: 0 done, 1 the service refused or could not start, 2 wrong use, 130 stopped by a signal.
 */

import { once } from 'node:events';
import { addAbortSignal } from 'node:stream';
import { run } from './program.ts';

// A reader such as `head` closes the pipe before the end of the output.
process.stdout.on('error', () => process.exit(1));

process.exitCode = await run(process.argv.slice(2), {
  env: process.env,
  stdin: (signal) => (signal ? addAbortSignal(signal, process.stdin) : process.stdin),
  out: (line) => process.stdout.write(`${line}\n`),
  err: (line) => process.stderr.write(`${line}\n`),
  flushed: async () => {
    if (process.stdout.writableNeedDrain) await once(process.stdout, 'drain');
  },
  terminal: process.stderr.isTTY && process.env.TERM !== 'dumb' ? process.stderr : undefined,
  outIsTerminal: process.stdout.isTTY,
  // `once`: a second signal has no listener and ends the process at once.
  stopped: async () => {
    await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
  },
});
