import { describe, expect, test } from 'vitest';
import type { OperatorOptions } from '../../src/operator/index.ts';
import { createOperator } from '../../src/operator/index.ts';

const secret = 'ZZZZ-not-a-secret-ZZZZ';

describe('wrong options are told at creation: name, expected and got', () => {
  test.each<[options: unknown, error: typeof TypeError | typeof RangeError, message: string]>([
    [null, TypeError, 'options: expected object, got null'],
    ['x', TypeError, 'options: expected object, got string'],
    [
      { rateLimits: 5 },
      TypeError,
      'rateLimits: expected one of apiKey, clientSecret, siteId, roles, now, participants, rootSecret, environment, scope, identityExpires, refreshFrom, refreshExpires, rotationPeriod, rateLimit, maxBatchSize, keyGeneration, database, state, logger, got another name',
    ],
    [
      { participants: [{ siteID: 7 }] },
      TypeError,
      'participants[0].siteID: expected one of apiKey, clientSecret, siteId, roles, got another name',
    ],
    [{ toString: 5 }, TypeError, 'toString: expected one of'],
    [{ now: 5 }, TypeError, 'now: expected function, got number'],
    [{ logger: console.log }, TypeError, 'logger: expected logger, got function'],
    [{ environment: 'test' }, RangeError, 'environment: expected integration or production, got "test"'],
    [{ environment: 1 }, TypeError, 'environment: expected integration or production, got number'],
    [{ scope: 'uid2' }, RangeError, 'scope: expected UID2 or EUID, got "uid2"'],
    [{ identityExpires: '5' }, TypeError, 'identityExpires: expected seconds as a number, got string'],
    [{ identityExpires: 0 }, RangeError, 'identityExpires: expected seconds above 0, got 0'],
    [{ refreshFrom: -1 }, RangeError, 'refreshFrom: expected seconds above 0, got -1'],
    [{ refreshExpires: Number.NaN }, RangeError, 'refreshExpires: expected seconds above 0, got NaN'],
    [
      { refreshExpires: Number.POSITIVE_INFINITY },
      RangeError,
      'refreshExpires: expected seconds above 0, got Infinity',
    ],
    [{ identityExpires: 5 }, RangeError, 'refreshFrom: expected at most identityExpires (5), got 900'],
    [{ refreshExpires: 60 }, RangeError, 'refreshExpires: expected at least identityExpires (3600), got 60'],
    [{ rotationPeriod: 364 }, RangeError, 'rotationPeriod: expected a whole number from 365 to 4294967295, got 364'],
    [
      { rotationPeriod: 400.5 },
      RangeError,
      'rotationPeriod: expected a whole number from 365 to 4294967295, got 400.5',
    ],
    [{ rateLimit: 0 }, RangeError, 'rateLimit: expected a whole number from 1 to 1000000, got 0'],
    [{ rateLimit: '5' }, TypeError, 'rateLimit: expected number, got string'],
    [{ maxBatchSize: 0.5 }, RangeError, 'maxBatchSize: expected a whole number from 1 to 1000000, got 0.5'],
    [{ keyGeneration: 128 }, RangeError, 'keyGeneration: expected a whole number from 1 to 127, got 128'],
    [{ rootSecret: 5 }, TypeError, 'rootSecret: expected 32 bytes or their base64, got number'],
    [{ rootSecret: new Uint8Array(31) }, RangeError, 'rootSecret: expected 32 bytes or their base64, got 31 bytes'],
    [
      { rootSecret: secret },
      RangeError,
      'rootSecret: expected 32 bytes or their base64, got other text of 22 characters',
    ],
    [{ apiKey: 5 }, TypeError, 'apiKey: expected text, got number'],
    [{ apiKey: 'a b' }, RangeError, 'apiKey: expected visible ASCII characters, got other text of 3 characters'],
    [{ apiKey: '' }, RangeError, 'apiKey: expected visible ASCII characters, got other text of 0 characters'],
    [
      { clientSecret: secret },
      RangeError,
      'clientSecret: expected 32 bytes or their base64, got other text of 22 characters',
    ],
    [{ siteId: 0 }, RangeError, 'siteId: expected a whole number from 1 to 16777213, got 0'],
    [{ siteId: 2 ** 31 }, RangeError, 'siteId: expected a whole number from 1 to 16777213, got 2147483648'],
    [{ roles: 'MAPPER' }, TypeError, 'roles: expected array of roles, got string'],
    [
      { roles: ['ADMIN'] },
      RangeError,
      'roles: expected GENERATOR or MAPPER or ID_READER or SHARER or OPTOUT, got "ADMIN"',
    ],
    [{ participants: {} }, TypeError, 'participants: expected array, got object'],
    [{ participants: [{}, 5] }, TypeError, 'participants[1]: expected object, got number'],
    [
      { participants: [{ siteId: 1, clientSecret: secret }] },
      RangeError,
      'participants[0].clientSecret: expected 32 bytes or their base64, got other text of 22 characters',
    ],
  ])('%j', (options, error, message) => {
    const create = () => createOperator(options as OperatorOptions);
    expect(create).toThrow(error);
    expect(create).toThrow(message);
    expect(create).not.toThrow(secret);
  });
});

describe('participants', () => {
  const made = (options: OperatorOptions) => createOperator({ rootSecret: new Uint8Array(32), ...options });

  test('without any, one is made with all roles', () => {
    const { participants, made: told } = made({});
    expect(participants).toHaveLength(1);
    expect(told).toEqual(participants);
    expect(participants[0]).toMatchObject({
      siteId: 101,
      roles: ['GENERATOR', 'MAPPER', 'ID_READER', 'SHARER', 'OPTOUT'],
    });
    expect(Buffer.from(participants[0]!.clientSecret, 'base64')).toHaveLength(32);
  });

  test('what is given is kept, what is left out is made, and only that is told as made', () => {
    const clientSecret = Buffer.alloc(32, 1).toString('base64');
    const { participants, made: told } = made({
      participants: [{ apiKey: 'one', clientSecret, siteId: 7, roles: ['MAPPER'] }, { siteId: 8 }],
      apiKey: 'three',
    });
    expect(participants[0]).toEqual({ apiKey: 'one', clientSecret, siteId: 7, roles: ['MAPPER'] });
    expect(participants.map(({ siteId }) => siteId)).toEqual([7, 8, 101]);
    expect(told).toEqual(participants.slice(1));
  });

  test('a secret in hexadecimal is the same secret', () => {
    const clientSecret = Buffer.alloc(32, 1).toString('hex');
    expect(made({ apiKey: 'one', clientSecret }).participants[0]!.clientSecret).toBe(
      Buffer.alloc(32, 1).toString('base64'),
    );
  });
});

test('settings that are no secret can be read', () => {
  const operator = createOperator({ environment: 'production', rootSecret: new Uint8Array(32) });
  expect(operator.settings).toEqual({
    environment: 'production',
    scope: 'UID2',
    identityExpiresMs: 86_400_000,
    refreshFromMs: 3_600_000,
    refreshExpiresMs: 2_592_000_000,
    rotationPeriod: 31_536_000,
  });
  expect(operator.fingerprint).toMatch(/^[0-9a-f]{16}$/);
  expect(operator.inMemory).toBe(true);
});
