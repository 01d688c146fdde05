/** The content and the permissions of the files. */

import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { hashTextOf } from '../../src/token/index.ts';
import { freshLocation } from '../database/locations.ts';
import { people, service } from './fixtures.ts';

const filesWith = async (folder: string, text: string): Promise<string[]> => {
  const found: string[] = [];
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && (await readFile(path)).includes(text)) found.push(path);
  }
  return found;
};

test('a folder is private and holds no plain address or number', async () => {
  // That a new one is private is a test of test/database/folder.test.ts.
  const folder = await freshLocation('pglite');
  const mappings = await service().open(folder);
  await mappings.map([...people(3), { phone: '+12345678901' }, { email: 'No One' }]);
  await mappings.close();
  for (const path of ['', ...(await readdir(folder, { recursive: true }))]) {
    const found = await stat(join(folder, path));
    expect([path, (found.mode & 0o777).toString(8)]).toEqual([path, found.isDirectory() ? '700' : '600']);
  }
  for (const text of ['person-1', 'example.com', '12345678901', 'No One'])
    expect(await filesWith(folder, text)).toEqual([]);
  // The search itself works.
  expect(await filesWith(folder, hashTextOf('email', 'person-1@example.com')!)).not.toEqual([]);
});
