/**
 * The counts of a job, which it reports to its caller.
 */

import { diiOf } from './key.ts';
import type { AnsweredRow } from './mapping-request.ts';
import type { DueOptions, Invalid, Summary } from './types.ts';

/** What a batch has added. */
export interface BatchCounts {
  /** Items of the source; 0 for a due run. */
  readonly read: number;
  /** Items of the source that needed no request. */
  readonly kept: number;
  readonly rows: readonly AnsweredRow[];
}

/** The counts of a job. Each method calls the callbacks of the job, and fails if they throw. */
export interface JobReport {
  summary(): Summary;
  /** Set the number of rows of a due run. */
  setTotal(total: number): void;
  /** Count an item that is not valid. */
  addInvalid(found: Invalid): Promise<void>;
  /** Count a batch that is stored. */
  addBatch(batch: BatchCounts): Promise<void>;
}

/** Create the counts of a job that has done nothing yet. */
export function createJobReport({ onProgress, onInvalid }: Pick<DueOptions, 'onProgress' | 'onInvalid'>): JobReport {
  const counts = { read: 0, kept: 0, mapped: 0, optedOut: 0, invalid: 0 };
  let total: number | undefined;
  const addInvalid = async (found: Invalid): Promise<void> => {
    counts.invalid++;
    await onInvalid?.(found);
  };
  return {
    summary: () => ({ ...counts }),
    setTotal: (rows) => {
      total = rows;
    },
    addInvalid,
    addBatch: async ({ read, kept, rows }) => {
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
