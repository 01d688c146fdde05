/**
 * `npm run demo`: runs an operator, a publisher's server and its pages on loopback, and prints the addresses. Ctrl-C stops them.
 *
 * The lifetimes are short at first, so that you can watch the whole life of a token: it is refreshed after 10 s and expires after
 * 30 s. If TESSERA_INCUMBENT is the path of a copy of the UID2 JavaScript SDK, the comparison also shows that SDK.
 */

import { stat } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import { ensureDist } from '../build/dist.ts';
import { type Served, serve, serveOperator } from './gateway.ts';
import { createPublisher } from './publisher.ts';
import { createWorld, type World } from './world.ts';

export interface DemoOptions {
  /**
   * Port of the pages; 0 for any free ports. The operator uses the next port, or any free one. Default: 4700, or any free port if
   * 4700 is in use.
   */
  readonly port?: number | undefined;
  /** Path of a copy of the UID2 JavaScript SDK. Default: the environment variable TESSERA_INCUMBENT. */
  readonly incumbent?: string | undefined;
  /** Installs the packages of a folder of the repository. Default: `npm ci`. */
  readonly install?: ((folder: string) => Promise<void>) | undefined;
}

export interface Demo {
  /** Address of the pages. */
  readonly url: string;
  readonly operatorUrl: string;
  close(): Promise<void>;
}

const DEFAULT_PORT = 4700;

/** How fast time runs where clients are compared, so that their pauses are as much shorter as the lifetimes. */
const COMPARED_SPEED = 60;

async function checkIncumbent(path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (!found?.isFile())
    throw new Error(`demo: could not read ${path}; TESSERA_INCUMBENT must be the path of a script file`);
}

/**
 * Start the demo. Builds `dist/` first if it is not up to date. Prebid is installed when a page of it is opened.
 *
 * @throws {Error} Node's error, if a server cannot listen, as on a given port that is in use; or if the SDK cannot be read.
 * @example const { url, close } = await startDemo({ port: 0 });
 */
export async function startDemo({
  port: given,
  incumbent = process.env['TESSERA_INCUMBENT'],
  install,
}: DemoOptions = {}): Promise<Demo> {
  if (incumbent) await checkIncumbent(incumbent);
  await ensureDist();
  const port = given ?? DEFAULT_PORT;
  const world = createWorld();
  // No port follows 65,535: then any free one.
  const operator = await serveOperator(world, port && (port + 1) % 65_536);
  const comparedWorld = createWorld({ speed: COMPARED_SPEED });
  const comparedOperator = await serveOperator(comparedWorld, 0);
  const closeOperators = () => Promise.all([operator.close(), comparedOperator.close()]);
  const optionsOf = ({ url }: Served, { credentials, now }: World) => ({ baseUrl: url, ...credentials, now });
  const compared = { options: optionsOf(comparedOperator, comparedWorld), world: comparedWorld };
  const publisher = createPublisher(optionsOf(operator, world), { world, compared, incumbent, install });
  const pages = await serve((request) => publisher.fetch(request), port, given !== undefined).catch(async (error) => {
    await closeOperators();
    throw error;
  });
  return {
    url: pages.url,
    operatorUrl: operator.url,
    close: async () => {
      await Promise.all([pages.close(), closeOperators()]);
      await publisher.close();
    },
  };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { url, operatorUrl, close } = await startDemo();
  console.log(`
  demo       ${url}   <- open this
  operator   ${operatorUrl}

  A page for each use is linked from there. Ctrl-C stops both.
`);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void close());
}
