/** The reference of the command line, from the help of the real program. It knows neither VitePress nor the sidebar. */

import { mkdir, writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import manifest from '../../package.json' with { type: 'json' };
import { examplesOf } from '../../src/cli/examples.ts';
import { createProgram } from '../../src/cli/program.ts';
import { silentIo } from '../silent-io.ts';

/** A cell: no row ends inside it, and no part of it is read as markup. */
const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('\n', ' ');
const codeCell = (text: string): string => `\`${text.replaceAll('|', '\\|')}\``;

const table = (title: string, rows: readonly (readonly [term: string, text: string])[]): string[] =>
  rows.length === 0
    ? []
    : [
        `| ${title} | meaning |`,
        '|---|---|',
        ...rows.map(([term, text]) => `| ${codeCell(term)} | ${cell(text)} |`),
        '',
      ];

/** A verb and the verbs below it. */
const sections = (verb: Command, above = 'tessera', level = '##'): string[] => {
  const name = `${above} ${verb.name()}`;
  const help = verb.createHelp();
  const examples = examplesOf(verb.name());
  return [
    `${level} ${name}`,
    '',
    `${verb.description().replace(/^./, (first) => first.toUpperCase())}.`,
    '',
    '```',
    `${name} ${verb.usage()}`,
    '```',
    '',
    ...table(
      'argument',
      help.visibleArguments(verb).map((one) => [one.name(), help.argumentDescription(one)]),
    ),
    ...table(
      'option',
      help.visibleOptions(verb).map((one) => [one.flags, help.optionDescription(one)]),
    ),
    ...(examples && level === '##' ? ['```sh', ...examples, '```', ''] : []),
    ...verb.commands.flatMap((part) => sections(part, name, '###')),
  ];
};

/**
 * Write the page `command-line.md`.
 *
 * @param folder  where to, with a `/` at its end.
 */
export async function writeCommandLine(folder: string): Promise<void> {
  const program = createProgram(manifest.version, [], silentIo);
  const verbs = program
    .createHelp()
    .visibleCommands(program)
    .filter((verb) => verb.name() !== 'help');
  const text = [
    '# tessera',
    '',
    `${program.description()}. Version ${manifest.version}.`,
    '',
    'How credentials, output and exit codes work: [the command line](../command-line.md).',
    '',
    ...verbs.flatMap((verb) => sections(verb)),
  ];
  await mkdir(folder, { recursive: true });
  await writeFile(`${folder}command-line.md`, text.join('\n'));
}
