/** Errors of the engines, as messages that name what failed and no data. */

import { expect, test } from 'vitest';
import { storageError } from '../../src/database/engine-errors.ts';

test('the error names a host that cannot be resolved', () => {
  const failure = { code: 'ENOTFOUND', syscall: 'getaddrinfo', hostname: 'db.example' };
  const error = Object.assign(new Error('getaddrinfo ENOTFOUND db.example'), failure);
  expect(storageError(error, 'cannot connect to PostgreSQL').message).toBe(
    'database: cannot connect to PostgreSQL: getaddrinfo ENOTFOUND db.example',
  );
});

test.each<[what: string, error: unknown, said: string]>([
  ['of a package, of which nothing is known', new TypeError('cannot read DII'), 'TypeError'],
  ['that is no error', 'DII', 'an unknown failure'],
  [
    'of PostgreSQL about a value',
    Object.assign(new Error('invalid input syntax: "DII"'), { code: '22P02', severity: 'ERROR' }),
    'an invalid value (22P02)',
  ],
  [
    'of a name with several addresses, none of which answers',
    new AggregateError([
      Object.assign(new Error('connect'), { code: 'ECONNREFUSED', syscall: 'connect', address: '::1', port: 5432 }),
      Object.assign(new Error('connect'), {
        code: 'ECONNREFUSED',
        syscall: 'connect',
        address: '127.0.0.1',
        port: 5432,
      }),
    ]),
    'connect ECONNREFUSED ::1:5432',
  ],
])('an error %s is named without its data', (_, error, said) => {
  const failure = storageError(error, 'a statement failed');
  expect(failure).toMatchObject({ code: 'storage_failed', message: `database: a statement failed: ${said}` });
  expect(failure.cause).toBeUndefined();
});
