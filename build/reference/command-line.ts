/**
 * Writes the reference of the command line from the help of the real program. This file knows neither VitePress nor the sidebar.
 */

import { mkdir, writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import manifest from '../../package.json' with { type: 'json' };
import { examplesOf } from '../../src/cli/output/examples.ts';
import { createProgram } from '../../src/cli/program.ts';
import { silentIo } from '../silent-io.ts';

/** Escape the text of a cell: it must neither end its row nor be read as markup. */
function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('\n', ' ');
}

function codeCell(text: string): string {
  return `\`${text.replaceAll('|', '\\|')}\``;
}

function table(title: string, rows: readonly (readonly [term: string, text: string])[]): string[] {
  return rows.length === 0
    ? []
    : [
        `| ${title} | meaning |`,
        '|---|---|',
        ...rows.map(([term, text]) => `| ${codeCell(term)} | ${cell(text)} |`),
        '',
      ];
}

/** A command and the commands below it. `path`: `keys list`. */
function sections(command: Command, path = command.name(), level = '##'): string[] {
  const name = `tessera ${path}`;
  const help = command.createHelp();
  const examples = examplesOf(path);
  return [
    `${level} ${name}`,
    '',
    `${command.description().replace(/^./, (first) => first.toUpperCase())}.`,
    '',
    '```',
    `${name} ${command.usage()}`,
    '```',
    '',
    ...table(
      'argument',
      help.visibleArguments(command).map((one) => [one.name(), help.argumentDescription(one)]),
    ),
    ...table(
      'option',
      help.visibleOptions(command).map((one) => [one.flags, help.optionDescription(one)]),
    ),
    ...(examples ? ['```sh', ...examples, '```', ''] : []),
    ...command.commands.flatMap((part) => sections(part, `${path} ${part.name()}`, '###')),
  ];
}

/**
 * Write the page `command-line.md`.
 *
 * @param folder  the output folder, with a trailing slash.
 */
export async function writeCommandLine(folder: string): Promise<void> {
  const program = createProgram(manifest.version, [], silentIo);
  const commands = program
    .createHelp()
    .visibleCommands(program)
    .filter((command) => command.name() !== 'help');
  const text = [
    '# tessera',
    '',
    `${program.description()}. Version ${manifest.version}.`,
    '',
    'How to use it, input, output and exit codes: [the command line](../operating/command-line.md).',
    '',
    ...commands.flatMap((command) => sections(command)),
  ];
  await mkdir(folder, { recursive: true });
  await writeFile(`${folder}command-line.md`, text.join('\n'));
}
