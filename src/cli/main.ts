#!/usr/bin/env node
/// <reference types="node" />
/**
 * The `tessera` command: gives a process's arguments, environment, output and signals to the verbs.
 *
 * Exit codes: 0 done, 1 the service refused or could not start, 2 wrong use.
 */

import { once } from 'node:events';
import { run } from './program.ts';

process.exitCode = await run(process.argv.slice(2), {
  env: process.env,
  out: (line) => process.stdout.write(`${line}\n`),
  err: (line) => process.stderr.write(`${line}\n`),
  // A second signal finds no listener, and ends the process at once.
  stopped: async () => {
    await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
  },
});
