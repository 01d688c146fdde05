/** The examples at the end of each `--help`. They run as written; the placeholders are files of the user. */

import type { Command } from 'commander';

const EXAMPLES: Readonly<Record<string, readonly [string, string]>> = {
  operator: [
    'tessera operator --env tessera.env',
    'tessera operator --port 9000 --database ./operator-data --scope EUID',
  ],
  keys: ['tessera keys list --database ./operator-data', 'tessera keys rotate --in 86400 --config operator.json'],
  'keys list': ['tessera keys list --database ./operator-data', 'tessera keys list --config operator.json --json'],
  'keys rotate': [
    'tessera keys rotate --database ./operator-data',
    'tessera keys rotate --in 3600 --config operator.json',
  ],
  'keys retire': [
    'tessera keys retire 1 --database ./operator-data',
    'tessera keys retire 3 --force --config operator.json',
  ],
  participants: [
    'tessera participants add --site-id 102 --roles MAPPER --database ./operator-data',
    'tessera participants list --config operator.json --json',
  ],
  'participants list': [
    'tessera participants list --database ./operator-data',
    'tessera participants list --config operator.json --json',
  ],
  'participants add': [
    'tessera participants add --site-id 102 --roles MAPPER --database ./operator-data',
    'tessera participants add --from-env --config operator.json',
  ],
  'participants update': [
    'tessera participants update 0f3c9a51d2b47e68 --new-secret --database ./operator-data',
    'tessera participants update 0f3c9a51d2b47e68 --roles GENERATOR,OPTOUT --config operator.json',
  ],
  'participants revoke': [
    'tessera participants revoke 0f3c9a51d2b47e68 --database ./operator-data',
    'tessera participants revoke 0f3c9a51 7b1e20d4 --config operator.json',
  ],
  generate: [
    'umask 077; tessera generate user@example.com > set.json',
    'tessera generate --phone +12345678901 --env tessera.env',
  ],
  validate: ['tessera validate "$TOKEN" user@example.com', 'tessera validate "$TOKEN" --phone +12345678901 --json'],
  refresh: [
    'umask 077; tessera refresh set.json > newer.json',
    'tessera generate user@example.com | tessera refresh -',
  ],
  map: ['tessera map people.csv --column email', 'tessera map people.csv --column email --out mapped.csv'],
  optout: ['tessera optout user@example.com', 'tessera optout --phone +12345678901 --env tessera.env'],
  buckets: [
    'tessera buckets --since 2026-01-01 > buckets.csv',
    'tessera buckets --since 2026-01-01T12:00 --json > buckets.json',
  ],
  optouts: ['tessera optouts raw-ids.txt', 'tessera optouts mappings.csv --column rawId --json'],
  doctor: ['tessera doctor --env tessera.env', 'tessera doctor --origin https://www.example --json'],
  inspect: ['tessera inspect set.json', 'tessera generate user@example.com | tessera inspect -'],
  init: ['tessera init', 'tessera init my-site --express --port 4000'],
  demo: ['tessera demo', 'npx tessera-id demo'],
};

export function examplesOf(command: string): readonly [string, string] | undefined {
  return EXAMPLES[command];
}

export function addExamples(command: Command, name: string): Command {
  const examples = examplesOf(name);
  return examples
    ? command.addHelpText('after', `\nExamples:\n${examples.map((line) => `  $ ${line}`).join('\n')}`)
    : command;
}
