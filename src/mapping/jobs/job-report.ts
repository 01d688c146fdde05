/** The counts of a job, which it reports to its caller. */

import { diiOf } from '../rows/key.ts';
import type { AnsweredRow } from '../rows/mapping-request.ts';
import type { DueOptions, Invalid, Summary } from '../types.ts';

interface BatchCounts {
  /** Items of the source; 0 for a due run. */
  readonly read: number;
  /** Items of the source that needed no request. */
  readonly kept: number;
  readonly rows: readonly AnsweredRow[];
}

export type JobReport = ReturnType<typeof createJobReport>;

/** Each method calls the callbacks of the job, and fails if they throw. */
export function createJobReport({ onProgress, onInvalid }: Pick<DueOptions, 'onProgress' | 'onInvalid'>) {
  const counts = { read: 0, kept: 0, mapped: 0, optedOut: 0, invalid: 0 };
  let total: number | undefined;
  const addInvalid = async (found: Invalid): Promise<void> => {
    counts.invalid++;
    await onInvalid?.(found);
  };
  return {
    summary: (): Summary => ({ ...counts }),
    setTotal: (rows: number): void => {
      total = rows;
    },
    addInvalid,
    addBatch: async ({ read, kept, rows }: BatchCounts): Promise<void> => {
      counts.read += read;
      counts.kept += kept;
      for (const row of rows) {
        if (row.state !== 'invalid') counts[row.state]++;
        else await addInvalid({ dii: diiOf(row), index: undefined, reason: row.reason! });
      }
      if (read > 0 || rows.length > 0) onProgress?.({ ...counts, ...(total !== undefined && { total }) });
    },
  };
}
