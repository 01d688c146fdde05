/** The table of endpoints in the documentation, compared with the operator. */

import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { root } from '../../build/dist.ts';
import { SEALED_ENDPOINTS } from '../../src/operator/endpoints/sealed-endpoints.ts';
import { ROLES } from '../../src/operator/ports/roles.ts';

/** The cells of the first table row whose first cell names `code` in backticks, with or without a method before it. */
const rowOf = async (code: string): Promise<string[]> => {
  const lines = (await readFile(`${root}docs/protocol.md`, 'utf8'))
    .split('\n')
    .filter((line) => line.startsWith('| `'));
  const rows = lines.map((line) => line.split('|').slice(1, -1));
  return rows.find(([name]) => name!.split('`').some((part) => part.replace('POST ', '') === code)) ?? [];
};

describe('docs/protocol.md', () => {
  test.each(SEALED_ENDPOINTS)('lists $path with its roles', async ({ path, roles }) => {
    const [, cell = ''] = await rowOf(path);
    expect(ROLES.filter((role) => cell.split(/\W+/).includes(role)).sort()).toEqual([...roles].sort());
  });
});
