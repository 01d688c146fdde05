/** A program: the operator of `dist/` on a port, and one of its refresh tokens. Its argument is a database; none for memory. */

import { builtNode, builtOperator, builtServer } from './built.ts';
import { report } from './child.ts';

const { createOperator } = await builtOperator();
const { createClient } = await builtServer();
const { listen } = await builtNode();

const [database] = process.argv.slice(2);
const operator = createOperator({ roles: ['GENERATOR'], ...(database && { database }) });
await operator.ready;
const client = createClient({
  baseUrl: 'http://localhost',
  ...operator.participants[0]!,
  fetch: (url, init) => operator.fetch(new Request(url, init)),
});
const result = await client.generate({ email: 'user@example.com' });
if (result.status !== 'success') throw new Error(`expected a token set, got ${result.status}`);
const { port } = await listen(operator, { port: 0, replaceGlobals: true });
report({ port, path: '/v2/token/refresh', body: result.tokens.refreshToken });
