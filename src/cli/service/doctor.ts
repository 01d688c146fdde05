/** The command `doctor`: its options and its output. `diagnosis.ts` runs the checks. */

import { type Command, CommanderError, InvalidArgumentError } from 'commander';
import type { Io } from '../io.ts';
import { coloursOf } from '../output/style.ts';
import type { Check } from './diagnosis.ts';
import { connectionOf, type ServiceOptions, serviceCommand } from './service-options.ts';

/** A service that permits every page would also permit any other text. A webview has its own scheme. */
function parseOrigin(text: string): string {
  if (!/^[a-z][a-z\d+.-]*:\/\/[^\s/?#@]+$/.test(text))
    throw new InvalidArgumentError('expected an origin as browsers send it, https://host[:port], without a path');
  return text;
}

function printChecks(checks: readonly Check[], io: Io): void {
  const { green, red, dim } = coloursOf(io, 'out');
  const colours = { ok: green, failed: red, skipped: dim };
  const width = Math.max(...checks.map(({ name }) => name.length));
  for (const { status, name, detail, remedy } of checks) {
    io.out(`${colours[status](status.padEnd(7))}  ${name.padEnd(width)}  ${detail}`);
    if (remedy !== undefined) io.out(`${' '.repeat(width + 11)}${remedy}`);
  }
}

export function doctorCommand(io: Io): Command {
  return serviceCommand(
    'doctor',
    'check the address, clock, API key, roles, client secret and CORS',
    'print one JSON object',
  )
    .option(
      '--origin <origin>',
      'origin of a page that refreshes tokens, for the CORS check',
      parseOrigin,
      'https://www.example',
    )
    .action(async (flags: ServiceOptions & { readonly origin: string }) => {
      const connection = connectionOf(flags, io);
      const checks = await (await import('./diagnosis.ts')).diagnose(connection, flags, flags.origin);
      const isWell = checks.every(({ status }) => status !== 'failed');
      if (flags.json) io.out(JSON.stringify({ ok: isWell, checks }));
      else printChecks(checks, io);
      if (!isWell) throw new CommanderError(1, 'tessera.unwell', 'a check failed');
    });
}
