/** Runs the tests of statuses and headers over HTTP, because Node's server could add or change headers. */

import { afterAll, describe } from 'vitest';
import { type Listening, listen } from '../../src/operator/node.ts';
import { operatorRunner } from '../operator/fixtures.ts';

const servers: Promise<Listening>[] = [];
const runInProcess = operatorRunner.run;
operatorRunner.run = (options) => {
  const { operator } = runInProcess(options);
  const server = listen(operator, { port: 0 });
  servers.push(server);
  return { operator, fetch: async (path, init) => fetch(`${(await server).url}${path}`, init) };
};
afterAll(async () => Promise.all(servers.map(async (server) => (await server).close())));

describe('http', async () => void (await import('../operator/http.test.ts')));
describe('rate limit', async () => void (await import('../operator/rate-limit.test.ts')));
