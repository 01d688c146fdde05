/**
 * A real WebKitGTK for tests: MiniBrowser under Xvfb, driven by WebKitWebDriver over plain W3C WebDriver.
 *
 * The driver has one current window. Every command first switches to its own window, and commands run one at a time.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { createServer, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PLAIN_HOST } from './chromium.ts';
import type { Engine, EngineKind, Tab } from './engine.ts';
import { firstThatRuns } from './files.ts';
import { freePort } from './free-port.ts';

const DRIVER = ['/usr/bin/WebKitWebDriver'];
const SCREEN = ['/usr/bin/Xvfb'];
/** MiniBrowser is part of the library package and is not in the PATH. */
const BROWSER = ['x86_64', 'aarch64', 'arm'].flatMap((machine) =>
  ['4.1', '6.0', '4.0'].map(
    (api) => `/usr/lib/${machine}-linux-gnu${machine === 'arm' ? 'eabihf' : ''}/webkit2gtk-${api}/MiniBrowser`,
  ),
);

const COMMAND_MS = 25_000;

/** Time limit of one script, ms. Promises are polled and do not count. An answer may be lost during a navigation. */
const SCRIPT_MS = 5_000;

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

const stop = (process: ChildProcess): Promise<void> =>
  new Promise((resolve) => {
    if (process.exitCode !== null || process.signalCode !== null) return resolve();
    process.once('exit', () => resolve());
    process.kill();
  });

/** Return the first output of a process on a pipe; rejects if the process exits first. */
const firstWord = (process: ChildProcess, fd: number): Promise<string> =>
  new Promise((resolve, reject) => {
    process.stdio[fd]!.once('data', (bytes) => resolve(String(bytes).trim()));
    process.once('error', reject);
    process.once('exit', (code) => reject(new Error(`${process.spawnfile} ended with ${code}`)));
  });

/** A proxy that maps {@link PLAIN_HOST} to loopback, for which this engine has no option. */
const serveProxy = (): Promise<Server> =>
  new Promise((resolve) => {
    const server = createServer((incoming, outgoing) => {
      const { port, pathname, search } = new URL(incoming.url!);
      const { method, headers } = incoming;
      const onward = httpRequest({ host: '127.0.0.1', port, path: pathname + search, method, headers }, (answer) => {
        outgoing.writeHead(answer.statusCode!, answer.headers);
        answer.pipe(outgoing);
      });
      onward.once('error', () => outgoing.destroy());
      incoming.pipe(onward);
    }).listen(0, '127.0.0.1', () => resolve(server));
  });

const portOf = (server: Server) => (server.address() as AddressInfo).port;

type Command = <T>(method: string, path: string, body?: unknown) => Promise<T>;

const commandsTo = (address: string): Command => {
  return async <T>(method: string, path: string, body?: unknown) => {
    const response = await fetch(address + path, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(COMMAND_MS),
    });
    const { value } = (await response.json()) as { value: T & { error?: string; message?: string } };
    if (value?.error) throw new Error(`${value.error}: ${value.message}`);
    return value;
  };
};

const answers = async (command: Command, process: ChildProcess): Promise<void> => {
  while (process.exitCode === null) {
    try {
      return await command('GET', '/status');
    } catch {
      await pause(50);
    }
  }
  throw new Error(`${process.spawnfile} ended with ${process.exitCode}`);
};

/**
 * The result of an expression. The driver could wait for a promise itself, but it would wait until its own time-out if the page
 * navigates meanwhile.
 */
interface Evaluation<T> {
  readonly value?: T;
  readonly error?: string;
  /** The result is a promise, whose outcome will be in the global of this name. */
  readonly pending?: number;
}

/** Open the driver's only session, with a separate browser. */
const openSession = async (
  command: Command,
  pid: number,
  proxyPort: number,
  closeAll: () => Promise<void>,
): Promise<Engine> => {
  const { sessionId, capabilities } = await command<{ sessionId: string; capabilities: { browserVersion: string } }>(
    'POST',
    '/session',
    {
      capabilities: {
        alwaysMatch: {
          // The driver may wait forever if `history.back()` leads to a page in the back/forward cache.
          pageLoadStrategy: 'none',
          'webkitgtk:browserOptions': { binary: await firstThatRuns(BROWSER), args: ['--automation'] },
          proxy: { proxyType: 'manual', httpProxy: `127.0.0.1:${proxyPort}`, noProxy: ['127.0.0.1'] },
        },
      },
    },
  );
  const at = `/session/${sessionId}`;
  await command('POST', `${at}/timeouts`, { script: SCRIPT_MS, pageLoad: COMMAND_MS });

  let last: Promise<unknown> = Promise.resolve();
  const inWindow = <T>(handle: string, work: () => Promise<T>): Promise<T> => {
    const mine = last.then(async () => {
      await command('POST', `${at}/window`, { handle });
      return work();
    });
    last = mine.catch(() => {});
    return mine;
  };
  // The first window stays open and empty, because the session ends with its last window.
  const first = await command<string>('GET', `${at}/window`);

  const open = async (): Promise<Tab> => {
    const { handle } = await inWindow(first, () =>
      command<{ handle: string }>('POST', `${at}/window/new`, { type: 'window' }),
    );
    const evaluate = async <T>(expression: string): Promise<T> => {
      const run = (script: string) =>
        inWindow(handle, () => command<Evaluation<T>>('POST', `${at}/execute/sync`, { script, args: [] }));
      let { value, error, pending } = await run(`
        const value = ${expression};
        if (typeof value?.then !== 'function') return { value };
        const pending = Math.random();
        const settle = (outcome) => (window[pending] = outcome);
        value.then((value) => settle({ value }), (error) => settle({ error: String(error) }));
        return settle({ pending });`);
      while (pending) {
        await pause(10);
        ({ value, error, pending } = await run(
          `return window[${pending}] ?? { error: 'the page has navigated away' };`,
        ));
      }
      if (error !== undefined) throw new Error(error);
      return value as T;
    };
    return {
      // This driver reports none, so the test pages collect their own.
      errors: [],
      goto: async (url) => {
        await evaluate('void (window.isLeft = true)');
        await inWindow(handle, () => command('POST', `${at}/url`, { url }));
        const isThere = '!window.isLeft && document.readyState === "complete"';
        const end = Date.now() + COMMAND_MS;
        while (!(await evaluate(isThere).catch(() => false))) {
          if (Date.now() > end) throw new Error(`not loaded within ${COMMAND_MS} ms: ${url}`);
          await pause(20);
        }
      },
      evaluate,
      close: () => inWindow(handle, () => command('DELETE', `${at}/window`)),
    };
  };

  return {
    version: capabilities.browserVersion,
    pid,
    open,
    close: async () => {
      await last;
      await command('DELETE', at).catch(() => {});
      await closeAll();
    },
  };
};

/** Start processes that end with this one. */
const createStart = () => {
  const started: ChildProcess[] = [];
  const start = (...[program, args, options]: Parameters<typeof spawn>): ChildProcess => {
    const child = spawn(program, args, options);
    started.push(child);
    process.once('exit', () => child.kill());
    return child;
  };
  return { started, start };
};

const startScreen = (start: ReturnType<typeof createStart>['start']): Promise<string> =>
  firstWord(
    start(SCREEN[0]!, ['-displayfd', '3', '-screen', '0', '1280x800x24', '-nolisten', 'tcp'], {
      stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
    }),
    3,
  ).then((number) => `:${number}`);

/**
 * Open a page in a browser without a driver, whose profile in `folder` outlives its processes: that of a driver is lost with the
 * network process.
 *
 * @returns its process, and the function that ends it.
 */
export const openUndriven = async (url: string, folder: string) => {
  const { started, start } = createStart();
  const DISPLAY = await startScreen(start);
  const env = { ...process.env, DISPLAY, HOME: folder, XDG_DATA_HOME: folder, XDG_CACHE_HOME: folder };
  const { pid } = start((await firstThatRuns(BROWSER))!, [url], { stdio: 'ignore', env });
  const close = async () => {
    for (const child of started.reverse()) await stop(child);
  };
  return { pid: pid!, close };
};

const launch = async (): Promise<Engine> => {
  const { started, start } = createStart();
  const proxy = await serveProxy();
  const closeAll = async () => {
    for (const child of started.reverse()) await stop(child);
    proxy.closeAllConnections();
    proxy.close();
  };
  try {
    const DISPLAY = await startScreen(start);
    const port = await freePort();
    const driver = start(DRIVER[0]!, [`--port=${port}`, '--host=127.0.0.1'], {
      stdio: 'ignore',
      env: { ...process.env, DISPLAY },
    });
    const command = commandsTo(`http://127.0.0.1:${port}`);
    await answers(command, driver);
    return await openSession(command, driver.pid!, portOf(proxy), closeAll);
  } catch (error) {
    await closeAll();
    throw error;
  }
};

export const webkit: EngineKind = {
  name: 'webkit',
  missing: async () => {
    const packages = [];
    if (!((await firstThatRuns(DRIVER)) && (await firstThatRuns(BROWSER)))) packages.push('webkit2gtk-driver');
    if (!(await firstThatRuns(SCREEN))) packages.push('xvfb');
    return packages.join(' and ') || undefined;
  },
  // On a busy machine a start may fail, because the port was taken meanwhile or the driver does not answer: try once more.
  launch: () => launch().catch(launch),
};
