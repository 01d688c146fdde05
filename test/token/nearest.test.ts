import { expect, test } from 'vitest';
import { lettersOf, nearest } from '../../src/token/nearest.ts';

test.each<readonly [sentence: string, name: string, known: readonly string[], expected: string | undefined]>([
  ['capitals and punctuation do not matter', 'Opt-out', ['token', 'optOut'], 'optOut'],
  ['the same letters come before similar ones', 'Tokens', ['token', 'tokens'], 'tokens'],
  ['its beginning is enough', 'max', ['firstMs', 'maxMs'], 'maxMs'],
  ['its end is enough', 'url', ['user', 'baseUrl'], 'baseUrl'],
  ['two letters are not', 'ma', ['maxMs'], undefined],
  ['more letters may follow', 'debugging', ['debug'], 'debug'],
  ['a letter may be missing', 'usr', ['user'], 'user'],
  ['a third of the letters may differ', 'optuot', ['token', 'optout'], 'optout'],
  ['no more may differ', 'xxxoptout', ['optout'], undefined],
  ['another word is not near', 'toString', ['firstMs', 'maxMs'], undefined],
])('the name that a misspelt one stands for: %s', (_, name, known, expected) => {
  expect(nearest(name, known)).toBe(expected);
});

test('the letters of a name are its letters and digits in lower case', () => {
  expect(lettersOf('data-User_ID 2')).toBe('datauserid2');
});
