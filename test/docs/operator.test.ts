/** The tables of endpoints and options in the documentation, compared with the operator. */

import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { root } from '../../build/dist.ts';
import { SEALED_ENDPOINTS } from '../../src/operator/endpoints/sealed-endpoints.ts';
import type { OptionRow } from '../../src/operator/options/checks.ts';
import { OPTIONS } from '../../src/operator/options/table.ts';
import { ROLES } from '../../src/operator/ports/roles.ts';

/** The cells of the first table row whose first cell names `code` in backticks, with or without a method before it. */
const rowOf = async (file: string, code: string): Promise<string[]> => {
  const lines = (await readFile(`${root}docs/${file}`, 'utf8')).split('\n').filter((line) => line.startsWith('| `'));
  const rows = lines.map((line) => line.split('|').slice(1, -1));
  return rows.find(([name]) => name!.split('`').some((part) => part.replace('POST ', '') === code)) ?? [];
};

test.each(SEALED_ENDPOINTS)('docs/protocol.md lists $path with its roles', async ({ path, roles }) => {
  const [, cell = ''] = await rowOf('protocol.md', path);
  expect(ROLES.filter((role) => cell.split(/\W+/).includes(role)).sort()).toEqual([...roles].sort());
});

describe('options of the operator', () => {
  const rows = Object.entries<OptionRow>(OPTIONS);
  const SECONDS: Readonly<Record<string, number>> = { min: 60, h: 3600, d: 86_400 };

  test.each(rows.filter(([, { kind }]) => kind === 'lifetime'))(
    'docs/operating/operator.md states the defaults of %s',
    async (name, row) => {
      const [, ...cells] = await rowOf('operating/operator.md', name);
      const stated = cells.map((cell) => {
        const [count, unit = ''] = cell.trim().split(' ');
        return Number(count) * SECONDS[unit]!;
      });
      expect(stated).toEqual([row.default, row.inProduction]);
    },
  );

  test('docs/operating/operator.md names no other option', async () => {
    const text = await readFile(`${root}docs/operating/operator.md`, 'utf8');
    const OF_LISTEN = ['headersTimeoutMs', 'requestTimeoutMs', 'maxConnections'];
    const named = [...text.matchAll(/`([a-z]+[A-Z]\w*)`/g)].map(([, name]) => name!);
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter((name) => !OF_LISTEN.includes(name) && !Object.hasOwn(OPTIONS, name))).toEqual([]);
  });

  test('the description of each states its default', async () => {
    const text = await readFile(`${root}src/operator/options/options.ts`, 'utf8');
    const members = [...text.matchAll(/\/\*\*((?:(?!\*\/).)*)\*\/\s+readonly (\w+)\?:/gs)];
    expect(members.length).toBeGreaterThan(15);
    for (const [, description = '', name = ''] of members) {
      const row = new Map(rows).get(name);
      for (const value of [row?.default, row?.inProduction])
        if (value !== undefined) expect(description.replace(/(?<=\d),(?=\d{3})/g, ''), name).toContain(`${value}`);
    }
  });
});
