/** docs/errors.md explains every code of a TokenError, and no other. */

import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { root } from '../build/dist.ts';

const read = (path: string) => readFile(`${root}${path}`, 'utf8');

const codesOf = (source: string): string[] => {
  const [, type = ''] = /export type ErrorCode =([\s\S]*?);/.exec(source) ?? [];
  return [...type.matchAll(/'(\w+)'/g)].map(([, code]) => code!);
};
/** The headings below "Codes", each with its text. */
const sectionsOf = (document: string): [heading: string, text: string][] =>
  document
    .split('\n## Codes\n')[1]!
    .split(/^### /m)
    .slice(1)
    .map((section) => [section.split('\n')[0]!, section.slice(section.indexOf('\n')).trim()]);

test('docs/errors.md has one section for each code, in the order of the type', async () => {
  const codes = codesOf(await read('src/token/errors.ts'));
  const sections = sectionsOf(await read('docs/errors.md'));
  expect(codes.length).toBeGreaterThan(15);
  expect(sections.map(([heading]) => heading)).toEqual(codes);
  // What it means, and at least one cause with what to do.
  for (const [heading, text] of sections) {
    const [meaning, ...rest] = text.split('\n\n');
    expect([heading, /^[`A-Z]/.test(meaning!), /^(- |\| )/m.test(rest.join('\n\n'))]).toEqual([heading, true, true]);
  }
});

test('messages that docs/errors.md quotes are in the source', async () => {
  const document = await read('docs/errors.md');
  const source = (
    await Promise.all(
      [
        'session/explain/provide.ts',
        'session/explain/entry.ts',
        'session/explain/no-token.ts',
        'token/checks.ts',
        'token/token-set.ts',
      ].map((file) => read(`src/${file}`)),
    )
  ).join('\n');
  const quoted = [
    'provide rejected with ',
    'refresh: no newer set: another tab was refreshing, or it is too early to ask the service again',
    'Nobody is signed in',
    'The stored set belongs to another user',
    'a Response',
    'a Promise',
    'a string',
    'The clock of this device was set back',
  ];
  for (const text of quoted) expect([text, document.includes(text), source.includes(text)]).toEqual([text, true, true]);
});
