/**
 * The verb `map`: its options, and which of its jobs they ask for. The jobs are loaded when they are asked for.
 */

import { type Command, Option } from 'commander';
import { DII_FORMS } from '../token/index.ts';
import type { Io } from './io.ts';
import type { FileFlags } from './map-file.ts';
import type { MapFlags } from './map-job.ts';
import { withRows } from './row-flags.ts';
import { serviceVerb, warnOfPassword } from './service.ts';

interface Flags extends MapFlags, FileFlags {
  readonly due?: boolean;
  readonly checkOptouts?: boolean;
  readonly counts?: boolean;
  readonly export?: string;
  readonly forget?: string;
  readonly forgetAll?: boolean;
}

const JOBS = ['--due', '--check-optouts', '--counts', '--export', '--forget', '--forget-all'] as const;

/** What goes with which jobs alone. */
const FITS: readonly (readonly [flag: string, jobs: readonly string[]])[] = [
  ['--column', ['FILE', '--forget -']],
  ['--delimiter', ['FILE', '--forget -']],
  ['--type', ['FILE', '--forget', '--forget -']],
  ['--rejects', ['FILE']],
  ['--v2', ['FILE', '--due', '--counts']],
  ['--workers', ['FILE', '--due']],
];

// --check-optouts -> checkOptouts, as commander does it.
const nameOf = (flag: string): keyof Flags =>
  flag.slice(2).replace(/-./g, (letter) => letter[1]!.toUpperCase()) as keyof Flags;

/** Which job it is. */
const jobIn = (file: string | undefined, flags: Flags): 'FILE' | (typeof JOBS)[number] => {
  const asked = [...(file === undefined ? [] : ['FILE' as const]), ...JOBS.filter((flag) => flags[nameOf(flag)])];
  if (asked.length !== 1)
    throw new RangeError(`expected one of FILE, ${JOBS.join(', ')}, got ${asked.join(' and ') || 'none of them'}`);
  const [job] = asked as [(typeof asked)[0]];
  const name = flags.forget === '-' ? '--forget -' : job;
  for (const [flag, jobs] of FITS)
    if (flags[nameOf(flag)] !== undefined && !jobs.includes(name))
      throw new RangeError(`${flag}: expected with ${jobs.join(' or ')}, got ${job}`);
  return job;
};

/** The verb `map`. */
export function mapCommand(io: Io): Command {
  return withRows(
    serviceVerb(
      'map',
      'map email addresses and phone numbers to raw IDs, store them, keep them up to date (role MAPPER)',
      'print one JSON object at the end; with --export, JSON lines',
    ).argument('[file]', 'CSV, or one value a line; - for standard input. Run again, it goes on where it was'),
  )
    .addOption(
      new Option('--type <type>', 'what it holds (default: told by each value and the name of the column)').choices(
        DII_FORMS,
      ),
    )
    .option('--rejects <file>', 'where rows go that hold no DII, with line and reason (default: beside the file)')
    .option('--database <where>', 'where the mappings are: a folder, or postgres://...', 'tessera-mappings')
    .option('--v2', 'version 2 of the mapping endpoint, with salt buckets')
    .option('--workers <number>', 'batches of 5,000 under way at once (default: 4)', Number)
    .option('--due', 'map again what is due')
    .option('--check-optouts', 'ask which users have opted out since, and take their raw IDs away')
    .option('--counts', 'count what is stored')
    .option('--export <file>', 'write what is stored as CSV; - for standard output')
    .option('--forget <dii>', 'delete one person; - for those on standard input')
    .option('--forget-all', 'delete everybody')
    .action(async (file: string | undefined, flags: Flags) => {
      const job = jobIn(file, flags);
      warnOfPassword(flags.database, io);
      if (job === 'FILE') return (await import('./map-file.ts')).mapFile(file!, flags, io);
      const stored = await import('./map-stored.ts');
      switch (job) {
        case '--due':
          return stored.mapDue(flags, io);
        case '--check-optouts':
          return stored.checkOptOuts(flags, io);
        case '--counts':
          return stored.countStored(flags, io);
        case '--export':
          return stored.exportStored(flags.export!, flags, io);
        case '--forget':
          return stored.forget(flags.forget!, flags, io);
        case '--forget-all':
          return stored.forgetAll(flags, io);
      }
    });
}
