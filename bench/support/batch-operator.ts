/** A program: the operator of `dist/` on a port, one of its refresh tokens, and a batch of 5,000 of another participant. */

import { toB64 } from '../../src/token/bytes.ts';
import { envelope } from '../../test/operator/fixtures.ts';
import { builtNode, builtOperator, builtServer } from './built.ts';
import { report } from './child.ts';

const { createOperator } = await builtOperator();
const { createClient } = await builtServer();
const { listen } = await builtNode();

const operator = createOperator({ participants: [{ roles: ['GENERATOR'] }, { siteId: 2, roles: ['MAPPER'] }] });
const [publisher, advertiser] = operator.participants;
const { url: baseUrl, port } = await listen(operator, { port: 0, replaceGlobals: true });
const result = await createClient({ baseUrl, ...publisher! }).generate({ email: 'user@example.com' });
if (result.status !== 'success') throw new Error(`expected a token set, got ${result.status}`);
const { apiKey, clientSecret } = advertiser!;
const email = Array.from({ length: 5000 }, (_, at) => `user${at}@example.com`);
report({
  refresh: { port, path: '/v2/token/refresh', body: result.tokens.refreshToken },
  batch: { port, path: '/v3/identity/map', body: toB64(await envelope({ email }, clientSecret, Date.now())), apiKey },
});
