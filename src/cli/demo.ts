/// <reference types="node" />
/**
 * The verb `demo`: starts the demo that the package contains, and stops it at a signal.
 *
 * The build puts `demo/main.ts` into `dist/demo/main.js`, with the pages beside it. It is loaded by its address, not bundled into
 * the command: it finds its pages and the scripts of `dist/` relative to itself.
 */

import { existsSync } from 'node:fs';
import { Command } from 'commander';
import type { Io } from './io.ts';

/** What `demo/main.ts` exports. */
interface DemoModule {
  /** Start the demo and print its addresses. */
  startDemo(options: { readonly out: (line: string) => void }): Promise<{ close(): Promise<void> }>;
}

// From `dist/cli/main.js`, and from `src/cli/demo.ts` in a clone.
const ADDRESSES = ['../demo/main.js', '../../demo/main.ts'];

const findDemo = (): string => {
  const found = ADDRESSES.map((address) => new URL(address, import.meta.url)).find((url) => existsSync(url));
  if (!found) throw new Error('demo: expected the files of the demo in the package, found none; install it again');
  return found.href;
};

/** Create the verb `demo`. */
export function demoCommand(io: Io): Command {
  return new Command('demo')
    .description("start the demo: an operator, a publisher's server and its page, on this machine")
    .action(async () => {
      const { startDemo } = (await import(/* @vite-ignore */ findDemo())) as DemoModule;
      const demo = await startDemo({ out: io.out });
      await io.stopped();
      await demo.close();
    });
}
