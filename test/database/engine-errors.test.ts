/** Errors of the engines, as messages that name what failed and no data. */

import { expect, test } from 'vitest';
import { storageError } from '../../src/database/engine-errors.ts';

test('a host whose name cannot be resolved is named', () => {
  const failure = { code: 'ENOTFOUND', syscall: 'getaddrinfo', hostname: 'db.example' };
  const error = Object.assign(new Error('getaddrinfo ENOTFOUND db.example'), failure);
  expect(storageError(error, 'cannot connect to PostgreSQL').message).toBe(
    'database: cannot connect to PostgreSQL: getaddrinfo ENOTFOUND db.example',
  );
});
