/**
 * The examples at the end of each `--help`. They run as written; the placeholders are files of the user.
 */

import type { Command } from 'commander';

const EXAMPLES: Readonly<Record<string, readonly [string, string]>> = {
  operator: [
    'tessera operator --env-file tessera.env',
    'tessera operator --port 9000 --database ./operator-data --scope EUID',
  ],
  keys: ['tessera keys list --database ./operator-data', 'tessera keys rotate --in 86400 --config operator.json'],
  participants: [
    'tessera participants add --site-id 102 --roles MAPPER --database ./operator-data',
    'tessera participants list --config operator.json --json',
  ],
  generate: [
    'tessera generate user@example.com > set.json',
    'tessera generate --phone +12345678901 --env-file tessera.env',
  ],
  validate: ['tessera validate "$TOKEN" user@example.com', 'tessera validate "$TOKEN" --phone +12345678901 --json'],
  refresh: ['tessera refresh set.json > newer.json', 'tessera generate user@example.com | tessera refresh -'],
  map: ['tessera map people.csv --column email', 'tessera map --due --database ./tessera-mappings'],
  optout: ['tessera optout user@example.com', 'tessera optout --phone +12345678901 --env-file tessera.env'],
  buckets: ['tessera buckets --since 2026-01-01', 'tessera buckets --since 2026-01-01T12:00 --json'],
  optouts: ['tessera optouts raw-ids.txt', 'tessera optouts mappings.csv --column rawId --json'],
  doctor: ['tessera doctor --env-file tessera.env', 'tessera doctor --origin https://www.example --json'],
  inspect: ['tessera inspect set.json', 'tessera generate user@example.com | tessera inspect -'],
  demo: ['tessera demo', 'npx tessera-id demo'],
  completion: ['source <(tessera completion bash)', 'tessera completion zsh >> ~/.zshrc'],
};

/** Return the two examples of a command. */
export function examplesOf(command: string): readonly [string, string] | undefined {
  return EXAMPLES[command];
}

/** Add the two examples of a command to its help. */
export function addExamples(command: Command): Command {
  const examples = examplesOf(command.name());
  return examples
    ? command.addHelpText('after', `\nExamples:\n${examples.map((line) => `  $ ${line}`).join('\n')}`)
    : command;
}
