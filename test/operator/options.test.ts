import { describe, expect, test } from 'vitest';
import { createOperator, type OperatorOptions } from '../../src/operator/index.ts';
import { ROOT } from './fixtures.ts';

const secret = 'ZZZZ-not-a-secret-ZZZZ';

test.each<[options: unknown, error: typeof TypeError | typeof RangeError, message: string]>([
  [null, TypeError, 'options: expected object, got null'],
  ['x', TypeError, 'options: expected object, got string'],
  [
    { rateLimits: 5 },
    TypeError,
    'rateLimits: expected one of apiKey, clientSecret, siteId, roles, participants, keepStoredParticipant, sharing, database, rootSecret, storeRootSecret, environment, scope, identityExpires, refreshFrom, refreshExpires, rotationPeriod, keyGeneration, keyRotation, rateLimit, anonymousRateLimit, maxBatchSize, publicMetrics, now, state, logger, got an unknown name',
  ],
  [
    { participants: [{ siteID: 7 }] },
    TypeError,
    'participants[0].siteID: expected one of apiKey, clientSecret, siteId, roles, got an unknown name',
  ],
  [{ now: 5 }, TypeError, 'now: expected function, got number'],
  [
    { logger: console.log },
    TypeError,
    'logger: expected an object with the methods info, warn and error, got function',
  ],
  [{ environment: 'test' }, RangeError, 'environment: expected integration or production, got "test"'],
  [{ identityExpires: '5' }, TypeError, 'identityExpires: expected number, got string'],
  [{ identityExpires: 5 }, RangeError, 'refreshFrom: expected at most identityExpires (5), got 900'],
  [{ refreshExpires: 60 }, RangeError, 'refreshExpires: expected at least identityExpires (3600), got 60'],
  [{ publicMetrics: 1 }, TypeError, 'publicMetrics: expected boolean, got number'],
  [{ rootSecret: 5 }, TypeError, 'rootSecret: expected 32 bytes, or their base64 or hexadecimal, got number'],
  [
    { rootSecret: new Uint8Array(31) },
    RangeError,
    'rootSecret: expected 32 bytes, or their base64 or hexadecimal, got 31 bytes',
  ],
  [
    { rootSecret: secret },
    RangeError,
    'rootSecret: expected 32 bytes, or their base64 or hexadecimal, got another string of 22 characters',
  ],
  [
    { rootSecret: new Uint8Array(32), environment: 'production' },
    RangeError,
    'rootSecret: expected 32 random bytes, got 32 equal bytes',
  ],
  [{ storeRootSecret: 'yes' }, TypeError, 'storeRootSecret: expected boolean, got string'],
  [{ storeRootSecret: true }, RangeError, 'storeRootSecret: expected the database option with it, got none'],
  [{ apiKey: 5 }, TypeError, 'apiKey: expected string, got number'],
  [{ apiKey: 'a b' }, RangeError, 'apiKey: expected visible ASCII characters, got another string of 3 characters'],
  [
    { clientSecret: secret },
    RangeError,
    'clientSecret: expected 32 bytes, or their base64 or hexadecimal, got another string of 22 characters',
  ],
  [{ refreshExpires: 1e12 }, RangeError, 'refreshExpires: expected at most 31557600000, got 1000000000000'],
  [{ roles: 'MAPPER' }, TypeError, 'roles: expected array, got string'],
  [
    { roles: ['ADMIN'] },
    RangeError,
    'roles: expected GENERATOR or MAPPER or ID_READER or SHARER or OPTOUT, got "ADMIN"',
  ],
  [{ participants: {} }, TypeError, 'participants: expected array, got object'],
  [{ participants: [{}, 5] }, TypeError, 'participants[1]: expected object, got number'],
  [
    { participants: [{ roles: ['MAPPER'] }, { siteId: 7 }, { siteId: 101, roles: ['GENERATOR'] }] },
    RangeError,
    'participants[2].apiKey: expected one, because the key derived for site 101 is that of participants[0], got none',
  ],
  [
    { participants: [{ apiKey: secret }, { apiKey: secret, siteId: 7 }] },
    RangeError,
    'participants[1].apiKey: expected one that no other participant has, got that of participants[0]',
  ],
  [
    { participants: [{ apiKey: secret }], apiKey: secret },
    RangeError,
    'apiKey: expected one that no other participant has, got that of participants[0]',
  ],
])(
  'createOperator refuses wrong options and names the option, what was expected and what came: %j',
  (options, error, message) => {
    const create = () => createOperator(options as OperatorOptions);
    expect(create).toThrow(error);
    expect(create).toThrow(message);
    expect(create).not.toThrow(secret);
  },
);

test.each([
  ['siteId', 1, 16_777_213],
  ['rotationPeriod', 365, 4_294_967_295],
  ['keyGeneration', 1, 127],
  ['keyRotation', 86_400, 4_294_967_295],
  ['rateLimit', 1, 1_000_000],
  ['anonymousRateLimit', 1, 1_000_000],
  ['maxBatchSize', 1, 1_000_000],
])('%s is a whole number from %d to %d', (name, least, most) => {
  const create = (value: unknown) => createOperator({ [name]: value });
  const expected = `${name}: expected a whole number from ${least} to ${most}, got `;
  for (const value of [least, most]) create(value);
  for (const value of [-1, least - 1 || -1, least + 0.5, most + 1, Number.NaN])
    expect(() => create(value)).toThrow(new RangeError(expected + value));
  expect(() => create('5')).toThrow(new TypeError(`${expected}string`));
});

test('a key rotation of 0 is no rotation', () => {
  createOperator({ keyRotation: 0 });
  expect(() => createOperator({ rateLimit: 0 })).toThrow(RangeError);
});

describe('participants', () => {
  const create = (options: OperatorOptions) => createOperator({ rootSecret: new Uint8Array(32), ...options });

  test('without any, one is derived that may generate and map; other roles must be asked for', () => {
    const { participants, generated } = create({});
    expect(participants).toHaveLength(1);
    expect(generated).toEqual(participants);
    expect(participants[0]).toMatchObject({ siteId: 101, roles: ['GENERATOR', 'MAPPER'] });
    expect(Buffer.from(participants[0]!.clientSecret, 'base64')).toHaveLength(32);
  });

  test('the environment of a shell may name one of them once more', async () => {
    const participants = [{ apiKey: 'one', siteId: 7 }];
    const operator = create({ participants, apiKey: 'one', keepStoredParticipant: true });
    await operator.ready;
    expect(operator.statuses[0]).toBe('added');
  });

  test('what is given is kept, what is left out is derived, and `generated` lists only participants with derived parts', () => {
    const clientSecret = Buffer.alloc(32, 1).toString('base64');
    const { participants, generated } = create({
      participants: [{ apiKey: 'one', clientSecret, siteId: 7, roles: ['MAPPER'] }, { siteId: 8 }],
      apiKey: 'three',
    });
    expect(participants[0]).toEqual({ apiKey: 'one', clientSecret, siteId: 7, roles: ['MAPPER'] });
    expect(participants.map(({ siteId }) => siteId)).toEqual([7, 8, 101]);
    expect(generated).toEqual(participants.slice(1));
  });

  test('a client secret may be hexadecimal', () => {
    const clientSecret = Buffer.alloc(32, 1).toString('hex');
    expect(create({ apiKey: 'one', clientSecret }).participants[0]!.clientSecret).toBe(
      Buffer.alloc(32, 1).toString('base64'),
    );
  });
});

describe('a start warns', () => {
  const warningsOf = async (options: OperatorOptions): Promise<string[]> => {
    const lines: string[] = [];
    const logger = { info: () => {}, warn: (_: object, line: string) => void lines.push(line), error: () => {} };
    const operator = createOperator({ ...options, logger });
    await operator.ready;
    await operator.close();
    return lines;
  };

  test('in production without a root secret, and not in integration', async () => {
    expect(await warningsOf({ environment: 'production' })).toEqual([
      'rootSecret: none from a file or the environment, and no storeRootSecret: the root secret is kept only in this process, and is lost with it',
    ]);
    expect(await warningsOf({ environment: 'production', rootSecret: ROOT })).toEqual([]);
    expect(await warningsOf({})).toEqual([]);
  });
});

test('settings without secrets are readable', () => {
  const operator = createOperator({ environment: 'production', rootSecret: ROOT });
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
