/**
 * `tessera optouts FILE`: which raw IDs of a file belong to users who have opted out.
 *
 * Before: `rows.ts`, `columns.ts`.
 */

import { columnOf } from './columns.ts';
import { csvLine, instantText } from './csv.ts';
import { type Input, inputOf } from './input.ts';
import type { Io } from './io.ts';
import { startProgress } from './progress.ts';
import type { RowFlags } from './row-flags.ts';
import { openRows } from './rows.ts';
import { clientOf, type ServiceFlags } from './service.ts';

// As `plainName` makes them.
const NAMES = ['rawid', 'advertisingid'];

async function* rawIdsIn(input: Input, { column, delimiter }: RowFlags): AsyncGenerator<string, void, undefined> {
  const { top, rows } = await openRows(input, delimiter);
  const { index, header } = columnOf(top?.fields, column, NAMES);
  for await (const some of rows)
    for (const { line, fields } of some) {
      const rawId = fields[index]?.trim();
      // An exported mapping of somebody who has opted out has none.
      if (!rawId || (header && line === top?.line)) continue;
      // An address that got into the wrong file must not be sent.
      if (!/^[\w+/=-]{1,256}$/.test(rawId)) throw new RangeError(`line ${line}: expected a raw ID, got other text`);
      yield rawId;
    }
}

/** Print those who have opted out. */
export async function optOutStatus(file: string, flags: RowFlags & ServiceFlags, io: Io): Promise<void> {
  const client = clientOf(flags, io);
  const input = await inputOf(file, io);
  let asked = 0;
  let found = 0;
  // The results would be drawn over where they go to a terminal too, and they show how far it is.
  const line = startProgress('raw IDs', io.outIsTerminal ? { ...io, terminal: undefined } : io);
  async function* counted(): AsyncGenerator<string, void, undefined> {
    for await (const rawId of rawIdsIn(input, flags)) {
      asked++;
      yield rawId;
    }
  }
  // Not before the file has turned out to be one of raw IDs.
  let head = flags.json ? undefined : 'rawId,optedOutAt';
  const outHead = (): void => {
    if (head !== undefined) io.out(head);
    head = undefined;
  };
  try {
    for await (const batch of client.optOutStatus(counted()).batches()) {
      found += batch.length;
      line.show(asked, input.readBytes, input.totalBytes);
      outHead();
      for (const optedOut of batch)
        io.out(flags.json ? JSON.stringify(optedOut) : csvLine([optedOut.rawId, instantText(optedOut.optedOutAt)]));
      await io.drained();
    }
    outHead();
  } finally {
    line.stop();
  }
  if (!flags.json) io.err(`${found} of ${asked} have opted out`);
}
