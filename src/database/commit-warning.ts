/** Detects a commit in doubt: PostgreSQL answers a COMMIT whose wait for a synchronous replica is cancelled with a warning. */

import type { PoolClient } from 'pg';
import { TokenError } from '../token/index.ts';

/** The code of messages that are no warnings. Unlike their severity, it is the same in every language. */
const NO_FAULT = '00000';

/** Run COMMIT. `storage_failed` also after a warning: it has committed, but a failover to the replica may lose it. */
export async function withoutWarning(client: PoolClient, commit: () => Promise<void>): Promise<void> {
  let warning: string | undefined;
  const onNotice = ({ code = NO_FAULT, message = '' }: Record<'code' | 'message', string | undefined>) => {
    if (code !== NO_FAULT) warning ??= `${message} (${code})`;
  };
  client.on('notice', onNotice);
  try {
    await commit();
  } finally {
    client.off('notice', onNotice);
  }
  if (warning !== undefined) throw new TokenError('storage_failed', `database: a commit is in doubt: ${warning}`);
}
