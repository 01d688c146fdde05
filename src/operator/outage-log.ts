/** Logs the outages of a component that is retried, such as a database: each cause once, and the end. */

import { reasonOf } from './failure-fields.ts';
import type { Logger } from './options.ts';

/** Log of one component that may fail and recover. */
export interface OutageLog {
  /** Log the cause of a failure, unless it was already logged for this outage. */
  failed(error: unknown): void;
  /** Log the end of the outage, if there was one. */
  recovered(): void;
}

/** The messages to log. */
interface OutageMessages {
  readonly failure: string;
  readonly recovery: string;
}

// Bounds the log if every failure has different text.
const MAX_CAUSES = 10;

// A reason may contain parts that differ each time, such as seconds or a port.
const withoutNumbers = (reason: string | undefined): string => `${reason}`.replace(/\d+/g, '');

/** Create the log of one component. An outage may have several causes: the connection is cut, then the next one is refused. */
export function createOutageLog(logger: Logger | undefined, { failure, recovery }: OutageMessages): OutageLog {
  const causes = new Set<string>();
  return {
    failed: (error) => {
      const fields = reasonOf(error);
      const cause = withoutNumbers(fields.reason);
      if (causes.has(cause) || causes.size === MAX_CAUSES) return;
      causes.add(cause);
      logger?.warn(fields, failure);
    },
    recovered: () => {
      if (causes.size > 0) logger?.info({}, recovery);
      causes.clear();
    },
  };
}
