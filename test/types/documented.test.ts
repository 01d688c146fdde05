/** An editor shows what an export is for: every export of every entry point has a docstring. */

import { expect, test } from 'vitest';
import { root } from '../../build/dist.ts';
import { entries } from '../../build/entries.ts';
import { undocumentedIn } from '../support/documented.ts';

test.each(Object.entries(entries))('%s: all its exports are documented', (_, file) => {
  expect(undocumentedIn(`${root}src/${file}.ts`)).toEqual([]);
});
