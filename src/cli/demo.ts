/// <reference types="node" />
/**
 * The command `demo`: starts the demo in the package, `dist/demo/main.js`. It is loaded by its address and not bundled into the
 * command, because it finds its pages and the scripts of `dist/` relative to itself.
 */

import { existsSync } from 'node:fs';
import { Command, InvalidArgumentError } from 'commander';
import type { Io } from './io.ts';
import { listenError } from './operator/listen-error.ts';
import { listed } from './output/style.ts';

interface DemoModule {
  startDemo(options: { readonly port?: number }): Promise<{
    readonly url: string;
    readonly operatorUrl: string;
    close(): Promise<void>;
  }>;
}

/** Relative to `dist/cli/main.js`, and to `src/cli/demo.ts` in a clone. */
const ADDRESSES = ['../demo/main.js', '../../demo/main.ts'];

function findDemo(): string {
  const found = ADDRESSES.map((address) => new URL(address, import.meta.url)).find((url) => existsSync(url));
  if (!found) throw new Error('demo: expected the files of the demo in the package, found none; reinstall the package');
  return found.href;
}

export function parsePort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (!(port <= 65_535)) throw new InvalidArgumentError('expected a whole number from 0 to 65535');
  return port;
}

export function demoCommand(io: Io): Command {
  return new Command('demo')
    .description("start the demo: an operator, a publisher's server and its page, on this machine")
    .option(
      '--port <port>',
      'port of the pages, 0 for any free port (default: 4700, or any free port if 4700 is in use)',
      parsePort,
    )
    .action(async (options: { readonly port?: number }) => {
      io.serves?.();
      const { startDemo } = (await import(/* @vite-ignore */ findDemo())) as DemoModule;
      const demo = await startDemo(options).catch((error) => {
        const { syscall, address, port } = error;
        throw syscall === 'listen' ? listenError(error, '--port', address, port) : error;
      });
      for (const line of listed([
        ['demo', `${demo.url}   <- open this`],
        ['operator', demo.operatorUrl],
      ]))
        io.out(line);
      io.out('Ctrl-C stops both.');
      await io.stopped();
      await demo.close();
    });
}
