/** The SQL of the documentation runs on a real PostgreSQL, and an operator starts on the database that it makes. */

import { expect, inject, test } from 'vitest';
import { openDatabase } from '../../src/database/database.ts';
import { createOperator } from '../../src/operator/index.ts';
import { blocks } from './blocks.ts';

test('the statements in docs/guide/postgresql.md create a database for an operator', async () => {
  const [block, ...more] = blocks.filter(({ language }) => language === 'sql');
  expect(more).toEqual([]);
  const admin = await openDatabase(inject('postgresUrl'), { connections: 1 });
  try {
    // The role of the tests may have the name of the page's.
    for (const statement of block!.code
      .replaceAll('tessera', 'tessera_docs')
      .split(';')
      .filter((text) => text.trim()))
      await admin.script(statement);
    const url = new URL(inject('postgresUrl'));
    Object.assign(url, { username: 'tessera_docs', password: 'change me', pathname: '/operator' });
    const operator = createOperator({ database: url.href });
    await operator.ready;
    await operator.close();
  } finally {
    await admin.script('DROP DATABASE IF EXISTS operator');
    await admin.script('DROP ROLE IF EXISTS tessera_docs');
    await admin.close();
  }
});
