/**
 * `npm run demo`: an operator, a publisher's server and its page, on loopback. Prints the addresses; Ctrl-C stops all.
 *
 * Lifetimes are short, so that a token's whole life can be watched: a refresh after 10 seconds, never more than 30.
 */

import { ensureDist } from '../build/dist.ts';
import { createOperator } from '../src/operator/index.ts';
import { type Listening, listen } from '../src/operator/node.ts';
import { createPublisher } from './publisher.ts';

const LIFETIMES = { refreshFrom: 10, identityExpires: 30, refreshExpires: 120 };

/** Listen at a port that people can remember, or at any other where that one is taken. */
const listenNear = async (service: Parameters<typeof listen>[0], port: number): Promise<Listening> => {
  try {
    return await listen(service, { port });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    return listen(service, { port: 0 });
  }
};

await ensureDist();

const operator = createOperator({ ...LIFETIMES, roles: ['GENERATOR', 'OPTOUT'] });
const operatorAt = await listenNear(operator, 4701);
const [credentials] = operator.participants;
const publisherAt = await listenNear(createPublisher({ baseUrl: operatorAt.url, ...credentials! }), 4700);

console.log(`
  publisher  ${publisherAt.url}   <- open this, in two tabs if you like
  in an app  ${publisherAt.url}/webview
  operator   ${operatorAt.url}

  A token is refreshed after ${LIFETIMES.refreshFrom} s, expires after ${LIFETIMES.identityExpires} s; its refresh token ends after ${LIFETIMES.refreshExpires} s.
  Ctrl-C stops both.
`);

const stop = async () => {
  await Promise.all([publisherAt.close(), operatorAt.close()]);
  await operator.close();
};
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop());
