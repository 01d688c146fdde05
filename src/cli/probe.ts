/**
 * The probe before a long job: one request for a reserved identity. A wrong address, key, role, secret or clock fails this
 * request, before the job creates anything.
 */

import type { Client } from '../server/index.ts';
import { isTokenError } from '../token/index.ts';
import { type Connection, createConnected, type ServiceOptions } from './service-options.ts';

// Every operator knows this identity and never opts it out (docs/protocol.md, "Opt-out").
const RESERVED = { email: 'validate@example.com' };

/** A method that a long job calls. */
export type ProbedMethod = 'mapIdentities' | 'mapIdentitiesV2';

// Failures that the job itself retries.
const isLeftToJob = (error: unknown): boolean =>
  isTokenError(error) && (error.code === 'timeout' || error.code === 'rate_limited' || (error.status ?? 0) >= 500);

/**
 * Send the probe.
 *
 * @throws {TokenError} an error that would make every request of the job fail. A time-out, a 429 or a 5xx is left to the retries
 *   of the job.
 */
export async function probe(
  method: ProbedMethod,
  connection: Connection,
  flags: ServiceOptions,
  signal: AbortSignal,
): Promise<void> {
  const client: Client = createConnected(connection, flags, { retry: { tries: 1 } });
  try {
    await client[method]([RESERVED], { signal }).toArray();
  } catch (error) {
    if (!isLeftToJob(error)) throw error;
  }
}
