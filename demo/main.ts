/**
 * `npm run demo`: run an operator, a publisher's server and its page on loopback, and print the addresses. Ctrl-C stops them.
 *
 * Lifetimes are short, so that the whole life of a token can be watched: it is refreshed after 10 s and expires after 30 s.
 */

import { pathToFileURL } from 'node:url';
import { ensureDist } from '../build/dist.ts';
import { createOperator } from '../src/operator/index.ts';
import { type Listening, listen } from '../src/operator/node.ts';
import { createPublisher } from './publisher.ts';

const LIFETIMES = { refreshFrom: 10, identityExpires: 30, refreshExpires: 120 };

/** Listen on `port`, or on any free port if that one is in use. */
const listenOn = async (service: Parameters<typeof listen>[0], port: number): Promise<Listening> => {
  try {
    return await listen(service, { port });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    return listen(service, { port: 0 });
  }
};

/**
 * Start operator and publisher; builds `dist/` first if it is not up to date.
 *
 * @param port  port of the pages; the operator has the next one. If one is in use, any free port.
 */
export async function startDemo({ port = 4700 }: { readonly port?: number } = {}) {
  await ensureDist();
  const operator = createOperator({ ...LIFETIMES, roles: ['GENERATOR', 'OPTOUT'] });
  const operatorServer = await listenOn(operator, port && port + 1);
  const [credentials] = operator.participants;
  const publisherServer = await listenOn(createPublisher({ baseUrl: operatorServer.url, ...credentials! }), port);
  return {
    url: publisherServer.url,
    operatorUrl: operatorServer.url,
    close: async (): Promise<void> => {
      await Promise.all([publisherServer.close(), operatorServer.close()]);
      await operator.close();
    },
  };
}

// `npm run demo`; `tessera demo` imports this file.
if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { url, operatorUrl, close } = await startDemo();
  console.log(`
  publisher  ${url}   <- open this, in two tabs if you like
  in an app  ${url}/webview
  operator   ${operatorUrl}

  A token is refreshed after ${LIFETIMES.refreshFrom} s, expires after ${LIFETIMES.identityExpires} s; its refresh token ends after ${LIFETIMES.refreshExpires} s.
  Ctrl-C stops both.
`);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void close());
}
