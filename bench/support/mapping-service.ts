/**
 * A program: a mapping service that answers at once. Every full batch gets the same results, sealed for its request, so that
 * only the time of the client is measured.
 */

import { resultsOf, serveSealed } from './sealed-service.ts';

const tomorrow = Math.floor(Date.now() / 1000) + 86_400;
const email_hash = resultsOf(5_000, (i) => tomorrow + i);
const json = Buffer.from(JSON.stringify({ body: { email_hash }, status: 'success' }));

serveSealed(() => json);
