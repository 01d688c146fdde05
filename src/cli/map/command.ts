/** The command `map`: its options, and the choice of its job. The files for the jobs are loaded on demand. */

import { type Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { locationKind } from '../../database/index.ts';
import { DII_FORMS } from '../../token/index.ts';
import { warnIfWritableByOthers } from '../input/existing-database.ts';
import { addRowOptions, withFlagNames } from '../input/options.ts';
import { type Io, STOPPED } from '../io.ts';
import { serviceCommand, warnAboutPassword } from '../service/service-options.ts';
import type { MapFileOptions } from './map-file.ts';
import type { MapTableOptions } from './map-table.ts';

interface AllOptions extends MapFileOptions, MapTableOptions {
  readonly due?: boolean;
  readonly checkOptOuts?: boolean;
  readonly counts?: boolean;
  readonly export?: string;
  readonly forget?: string;
  readonly forgetAll?: boolean;
  readonly yes?: boolean;
}

const JOBS = ['--due', '--check-opt-outs', '--counts', '--export', '--forget', '--forget-all'] as const;
/** `--out` needs no database, so it is another job than the file alone. */
type JobName = 'FILE' | 'FILE --out' | (typeof JOBS)[number];

/** The jobs that a signal stops: they report what they have done, or delete a partial file. */
const STOPPABLE: readonly JobName[] = ['FILE', 'FILE --out', '--due', '--check-opt-outs', '--export'];

/** The options that only some jobs accept. `FILE` is with and without `--out`. */
const ACCEPTED_BY: readonly (readonly [flag: string, jobs: readonly string[]])[] = [
  ['--column', ['FILE', '--forget -']],
  ['--delimiter', ['FILE', '--forget -']],
  ['--type', ['FILE', '--forget', '--forget -']],
  ['--out', ['FILE']],
  ['--jsonl', ['FILE --out']],
  ['--resume', ['FILE --out']],
  ['--rejects', ['FILE']],
  ['--spreadsheet', ['--export', 'FILE --out']],
  ['--v2', ['FILE', '--due', '--counts']],
  ['--workers', ['FILE', '--due']],
  ['--yes', ['--forget-all']],
];

/** --check-opt-outs -> checkOptOuts, the name in commander. */
function propertyOf(flag: string): keyof AllOptions {
  return flag.slice(2).replace(/-./g, (letter) => letter[1]!.toUpperCase()) as keyof AllOptions;
}

function selectJob(file: string | undefined, options: AllOptions, command: Command): JobName {
  const selected = [
    ...(file === undefined ? [] : ['FILE' as const]),
    // An empty value, as from a variable that is not set, also selects its job, which reports it.
    ...JOBS.filter((flag) => options[propertyOf(flag)] !== undefined),
  ];
  if (selected.length !== 1)
    throw new RangeError(`expected one of FILE, ${JOBS.join(', ')}, got ${selected.join(' and ') || 'none of them'}`);
  const [first] = selected as [(typeof selected)[0]];
  const job = first === 'FILE' && options.out !== undefined ? 'FILE --out' : first;
  const name = options.forget === '-' ? '--forget -' : job;
  for (const [flag, jobs] of ACCEPTED_BY)
    if (options[propertyOf(flag)] !== undefined && !jobs.some((one) => name === one || name === `${one} --out`))
      throw new RangeError(`${flag}: expected together with ${jobs.join(' or ')}, got ${job}`);
  // With `--out`, nothing is stored, and every row is in the output.
  for (const name of job === 'FILE --out' ? ['database', 'rejects'] : [])
    if (command.getOptionValueSource(name) === 'cli')
      throw new RangeError(`--${name}: expected without --out, got both`);
  return job;
}

function checkLocation(database: string): void {
  try {
    locationKind(database);
  } catch (error) {
    throw withFlagNames(error, ['database'], {});
  }
}

function parseWorkers(text: string): number {
  const workers = /^\d{1,2}$/.test(text) ? Number(text) : 0;
  if (workers < 1 || workers > 20) throw new InvalidArgumentError('expected a whole number from 1 to 20');
  return workers;
}

async function run(job: JobName, file: string | undefined, options: AllOptions, io: Io, signal: AbortSignal) {
  if (job === 'FILE --out') return (await import('./map-table.ts')).mapTable(file!, options, io, signal);
  if (job === 'FILE') return (await import('./map-file.ts')).mapFile(file!, options, io, signal);
  const stored = await import('./stored-mappings.ts');
  switch (job) {
    case '--due':
      return stored.mapDue(options, io, signal);
    case '--check-opt-outs':
      return stored.checkOptOuts(options, io, signal);
    case '--counts':
      return stored.countStored(options, io);
    case '--export':
      return stored.exportStored(options.export!, options, io, signal);
    case '--forget':
      return stored.forget(options.forget!, options, io);
    case '--forget-all':
      return stored.forgetAll(options, io);
  }
}

export function mapCommand(io: Io): Command {
  return addRowOptions(
    serviceCommand(
      'map',
      'map email addresses and phone numbers to raw IDs, and store and update the mappings (role MAPPER)',
      'print one JSON object at the end; with --export, JSON lines',
    ).argument(
      '[file]',
      'CSV, or one value per line; - for standard input. Run again to continue after an interruption',
    ),
  )
    .addOption(
      new Option('--type <type>', 'type of the values (default: detected from each value and the column name)').choices(
        DII_FORMS,
      ),
    )
    .option('--out <file>', 'write every row with its raw ID to this file and store nothing; - for standard output')
    .option('--jsonl', 'with --out: read and write JSON lines')
    .option('--resume', 'with --out: continue the unfinished file of an interrupted run')
    .option('--rejects <file>', 'file for rows without valid DII, with line and reason (default: next to the input)')
    .option('--database <where>', 'location of the mappings: a folder, or postgres://...', 'tessera-mappings')
    .option('--v2', 'use version 2 of the mapping endpoint, with salt buckets')
    .option('--workers <number>', 'number of batches of 5,000 in flight (default: 4)', parseWorkers)
    .option('--due', 'map the due rows again')
    .option('--check-opt-outs', 'check which users have opted out since they were mapped, and remove their raw IDs')
    .option('--counts', 'count the stored mappings by state')
    .option('--export <file>', 'write the stored mappings as CSV; - for standard output')
    .option(
      '--spreadsheet',
      "with --export or --out: put ' before fields that a spreadsheet would evaluate as a formula",
    )
    .option('--forget <dii>', 'delete the mapping of one person; - for a list on standard input')
    .option('--forget-all', 'delete all mappings; asks for confirmation on a terminal, requires --yes elsewhere')
    .option('--yes', 'confirm --forget-all')
    .action(async (file: string | undefined, options: AllOptions, command: Command) => {
      const job = selectJob(file, options, command);
      if (job !== 'FILE --out') {
        warnAboutPassword(options.database, io);
        checkLocation(options.database);
        await warnIfWritableByOthers(options.database, io);
      }
      const stop = new AbortController();
      // At a signal, other jobs end at once, and also an export to a pipe, which may wait for its reader.
      if (STOPPABLE.includes(job) && options.export !== '-' && options.out !== '-')
        io.stopped().then(() => stop.abort());
      try {
        await run(job, file, options, io, stop.signal);
      } catch (error) {
        if (!stop.signal.aborted) throw error;
        io.err('stopped');
        throw new CommanderError(STOPPED, 'tessera.stopped', 'stopped');
      }
    });
}
