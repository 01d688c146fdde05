/**
 * A program: a mapping service that answers at once and gives one DII in a hundred a raw ID that is already due. So 1 % of the
 * stored mappings are due as soon as all are mapped.
 */

import { resultsOf, serveSealed } from './sealed-service.ts';

const now = Math.floor(Date.now() / 1000);
const results = resultsOf(5_000, (i) => (i % 100 ? now + 86_400 + i : now)).map((result) => JSON.stringify(result));

serveSealed((open) => {
  const { email_hash } = JSON.parse(open()) as { email_hash: unknown[] };
  return `{"body":{"email_hash":[${results.slice(0, email_hash.length).join()}]},"status":"success"}`;
});
