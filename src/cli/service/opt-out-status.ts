/** `tessera optouts FILE`: prints the raw IDs of a file whose users have opted out. */

import { columnOf, missingField } from '../input/columns.ts';
import { noRowsFault, openRows } from '../input/csv-rows.ts';
import { type Input, openInput } from '../input/input.ts';
import type { RowOptions } from '../input/options.ts';
import type { Io } from '../io.ts';
import { csvLine, formatInstant } from '../output/csv-line.ts';
import { createProgressLine } from '../output/progress.ts';
import { warn } from '../output/style.ts';
import { clientOf, type ServiceOptions } from './service-options.ts';

/** As `normalizeName` returns them. */
const NAMES = ['rawid', 'advertisingid'];
/** Raw IDs have 43 or 44 characters. */
const RAW_ID = /^[\w+/=-]{32,256}$/;

async function* rawIdsIn(
  input: Input,
  { column, delimiter }: RowOptions,
  io: Io,
): AsyncGenerator<string, void, undefined> {
  const { first, next, seen, rows } = await openRows(input, delimiter);
  const isValue = (field: string): boolean => RAW_ID.test(field);
  const { index, header } = columnOf(
    { first: first?.fields, next: next.map(({ fields }) => fields), isValue },
    column,
    NAMES,
  );
  const fault = noRowsFault(input.name, seen, header);
  if (fault) warn(fault, io);
  for await (const some of rows)
    for (const row of some) {
      const { line, fields } = row;
      if (header && line === first?.line) continue;
      const fault = missingField(row, index);
      if (fault !== undefined) throw new RangeError(`line ${line}: ${fault}`);
      const rawId = fields[index]!.trim();
      // The field is empty in the exported mapping of an opted-out user.
      if (rawId === '') continue;
      // Do not send an email address, a phone number or a name from a wrong file.
      if (!RAW_ID.test(rawId)) throw new RangeError(`line ${line}: expected a raw ID, got other text`);
      yield rawId;
    }
}

export async function optOutStatus(file: string, flags: RowOptions & ServiceOptions, io: Io): Promise<void> {
  const client = clientOf(flags, io);
  const input = await openInput(file, io);
  let checked = 0;
  let found = 0;
  // Results on the same terminal would overwrite the line, and they show the progress themselves.
  const line = createProgressLine('raw IDs', io.outIsTerminal ? { ...io, terminal: undefined } : io);
  async function* counted(): AsyncGenerator<string, void, undefined> {
    for await (const rawId of rawIdsIn(input, flags, io)) {
      checked++;
      yield rawId;
    }
  }
  // Printed with the first results, because a wrong file must produce no output.
  let header = flags.json ? undefined : 'rawId,optedOutAt';
  const printHeader = (): void => {
    if (header !== undefined) io.out(header);
    header = undefined;
  };
  try {
    for await (const batch of client.optOutStatus(counted()).batches()) {
      found += batch.length;
      line.show(checked, input.readBytes, input.totalBytes);
      printHeader();
      for (const { rawId, optedOutAt } of batch)
        io.out(flags.json ? JSON.stringify({ rawId, optedOutAt }) : csvLine([rawId, formatInstant(optedOutAt)]));
      await io.flushed();
    }
    printHeader();
  } finally {
    line.stop();
  }
  if (!flags.json) io.err(`${found} of ${checked} have opted out`);
}
