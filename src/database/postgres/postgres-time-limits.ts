/** The server's time limits for a connection, sent at its start. Poolers such as PgBouncer reject or, if told to, ignore them. */

import { TokenError } from '../../token/errors.ts';
import type { Queries } from '../types.ts';

const NAMES = ['statement_timeout', 'idle_in_transaction_session_timeout'] as const;

/** For a new connection. Undefined: no limits. */
export function timeLimits(limitMs: number | undefined): { readonly [name in (typeof NAMES)[number]]?: number } {
  if (limitMs === undefined) return {};
  // A machine that fails within a transaction closes no connection, and the server would keep the locks until TCP gives up.
  return { statement_timeout: limitMs, idle_in_transaction_session_timeout: limitMs };
}

/** Return statements that set the limits until the end of a transaction, to follow its BEGIN. `limitMs` 0: its statements have none. */
export function limitTransaction(limitMs: number | undefined): string {
  const limits = limitMs === 0 ? { [NAMES[0]]: 0 } : timeLimits(limitMs);
  return Object.entries(limits)
    .map(([name, ms]) => `; SET LOCAL ${name} = ${ms}`)
    .join('');
}

const REMEDY = `a connection pooler must ignore ${NAMES.join(' and ')} (PgBouncer: ignore_startup_parameters), and the role must have them instead: ALTER ROLE name SET ${NAMES[0]} = '5s', and the same for ${NAMES[1]}`;

export function withPoolerRemedy(error: TokenError): TokenError {
  return error.message.includes('unsupported startup parameter')
    ? new TokenError('storage_failed', `${error.message}; ${REMEDY}`)
    : error;
}

/**
 * @throws {TokenError} `storage_failed` if the server applies none, from connection or role: a node without power or network
 *   would keep its locks for hours.
 */
export async function checkTimeLimits({ query }: Pick<Queries, 'query'>): Promise<void> {
  const settings = await query<{ name: string; setting: string }>(
    // Not `setting`, which another client of a pooler may have changed for the session.
    'SELECT name, reset_val AS setting FROM pg_settings WHERE name = ANY($1::text[])',
    [[...NAMES]],
  );
  const missing = NAMES.filter((name) => settings.some((each) => each.name === name && Number(each.setting) === 0));
  if (missing.length > 0)
    throw new TokenError(
      'storage_failed',
      `database: PostgreSQL applies no ${missing.join(' and no ')}, although the connection has set it; ${REMEDY}`,
    );
}
