/** Logs the outages of something that is retried, such as a database: each cause once, and the end. */

import { reasonOf } from './failure-fields.ts';
import type { Logger } from './options.ts';

/** Log of one thing that may fail and recover. */
export interface OutageLog {
  /** Log the cause of a failure, unless this outage has had it before. */
  failed(error: unknown): void;
  /** Log the end of the outage, if there was one. */
  recovered(): void;
}

/** What is logged. */
interface OutageMessages {
  readonly failure: string;
  readonly recovery: string;
}

// Bounds the log if each failure has another text.
const MAX_CAUSES = 10;

// A reason may contain parts that differ each time, such as seconds or a port.
const withoutNumbers = (reason: string | undefined): string => `${reason}`.replace(/\d+/g, '');

/** Create the log of one thing. The causes of an outage may differ: first the connection is cut, then the next one is refused. */
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
