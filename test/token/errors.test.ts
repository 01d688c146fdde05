import { inspect } from 'node:util';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { isTokenError, TokenError } from '../../src/token/index.ts';

describe('TokenError', () => {
  test('has a code, and status, retryAfterMs and cause if they were given', () => {
    const cause = new TypeError('below');
    const error = new TokenError('http_status', 'refresh: 429', { status: 429, retryAfterMs: 5, cause });
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({ name: 'TokenError', code: 'http_status', status: 429, retryAfterMs: 5, cause });
    expect(String(error)).toBe('TokenError: refresh: 429');
    expect(error.stack).toContain('errors.test.ts');
    expect(new TokenError('closed', 'closed').cause).toBeUndefined();
  });

  test('has no cause if none was given, so that Node prints none, and one that is not enumerable otherwise', () => {
    for (const details of [undefined, { status: 405 }, { cause: undefined }])
      expect(inspect(new TokenError('http_status', 'refresh: 405', details))).not.toContain('cause');
    const error = new TokenError('network', 'refresh', { cause: new TypeError('below') });
    expect(inspect(error)).toContain('[cause]: TypeError: below');
    expect(Object.keys(error)).toEqual(['name', 'code']);
  });

  test('has code and status in JSON, and not its cause', () => {
    const error = new TokenError('http_status', 'refresh: 429', { status: 429, cause: new TypeError('below') });
    expect(JSON.parse(JSON.stringify(error))).toEqual({
      name: 'TokenError',
      code: 'http_status',
      status: 429,
    });
  });

  test('is recognised by its name, including errors of another frame or of a second bundle', () => {
    expect(isTokenError(new TokenError('closed', 'closed'))).toBe(true);
    expect(isTokenError(runInNewContext(`Object.assign(new Error('x'), { name: 'TokenError', code: 'closed' })`))).toBe(
      true,
    );
    class Other extends Error {
      override name = 'TokenError';
    }
    expect(isTokenError(new Other())).toBe(true);
  });

  test.each([null, undefined, 0, '', 'TokenError', new Error('x'), new TypeError('x'), {}, () => {}])(
    '%s is not a TokenError',
    (other) => {
      expect(isTokenError(other)).toBe(false);
    },
  );
});
