/** The SQL of the documentation runs on a real PostgreSQL, and an operator starts on the database that it makes. */

import { expect, inject, test } from 'vitest';
import { openDatabase } from '../../src/database/database.ts';
import { createOperator } from '../../src/operator/index.ts';
import { blocks } from './blocks.ts';

test('the statements in docs/operating/postgresql.md create a database for an operator, and give its role time limits', async () => {
  // The test of examples/duckdb runs those of docs/mapping/warehouse.md.
  const statements = blocks
    .filter(({ language, page }) => language === 'sql' && page.endsWith('operating/postgresql.md'))
    .flatMap(({ code }) => code.split(';'));
  const admin = await openDatabase(inject('postgresUrl'), { connections: 1 });
  try {
    // The role of the tests may have the name of the page's.
    for (const statement of statements.filter((text) => text.trim()))
      await admin.script(statement.replaceAll('tessera', 'docs_tessera'));
    const url = new URL(inject('postgresUrl'));
    Object.assign(url, { username: 'docs_tessera', password: 'change me', pathname: '/operator' });
    const operator = createOperator({ database: url.href });
    await operator.ready;
    await operator.close();
    // Without limits of the connection, those of the role apply.
    const database = await openDatabase(url.href, { connections: 1 });
    const settings = await database.query(
      "SELECT setting FROM pg_settings WHERE name IN ('statement_timeout', 'idle_in_transaction_session_timeout')",
    );
    await database.close();
    expect(settings).toEqual([{ setting: '5000' }, { setting: '5000' }]);
  } finally {
    await admin.script('DROP DATABASE IF EXISTS operator');
    await admin.script('DROP ROLE IF EXISTS docs_tessera');
    await admin.close();
  }
});
