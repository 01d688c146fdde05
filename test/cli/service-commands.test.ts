/** The commands that call the service, against the real operator on a port. */

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { run } from '../../src/cli/program.ts';
import { requiredRoles } from '../../src/cli/service/required-roles.ts';
import { createOperator } from '../../src/operator/index.ts';
import { type Listening, listen } from '../../src/operator/node.ts';
import { type Client, createClient } from '../../src/server/index.ts';
import { hashTextOf } from '../../src/token/dii.ts';
import { parseAnswer } from '../../src/token/token-set.ts';
import { encodeTcString } from '../support/cmp.ts';

const SECRET = Buffer.alloc(32, 7).toString('base64');
const MAPPER_SECRET = Buffer.alloc(32, 8).toString('base64');
const EMAIL = 'user@example.com';

let operator: ReturnType<typeof createOperator>;
let listening: Listening;
let folder: string;
let env: Record<string, string>;
let client: Client;
let asked: string[] = [];

beforeAll(async () => {
  operator = createOperator({
    rootSecret: SECRET,
    participants: [
      { apiKey: 'key-of-all', clientSecret: SECRET, siteId: 101, roles: ['GENERATOR', 'MAPPER', 'OPTOUT'] },
      { apiKey: 'key-of-mapper', clientSecret: MAPPER_SECRET, siteId: 102, roles: ['MAPPER'] },
    ],
  });
  const fetch = (request: Request) => {
    asked.push(new URL(request.url).pathname);
    return operator.fetch(request);
  };
  listening = await listen({ fetch }, { port: 0 });
  folder = await mkdtemp(join(tmpdir(), 'tessera-commands-'));
  env = { TESSERA_BASE_URL: listening.url, TESSERA_API_KEY: 'key-of-all', TESSERA_CLIENT_SECRET: SECRET };
  client = createClient({ baseUrl: listening.url, apiKey: 'key-of-all', clientSecret: SECRET });
});
afterAll(async () => {
  await listening.close();
  await operator.close();
  await rm(folder, { recursive: true });
});

interface Given {
  readonly env?: Record<string, string>;
  readonly stdin?: Iterable<string | Uint8Array>;
}

const tessera = async (args: string[], given: Given = {}) => {
  const out: string[] = [];
  const err: string[] = [];
  let flushed = 0;
  asked = [];
  const code = await run(args, {
    env: given.env ?? env,
    stdin: async function* () {
      yield* given.stdin ?? [];
    },
    out: (line) => out.push(line),
    err: (line) => err.push(line),
    data: () => {},
    flushed: async () => void flushed++,
    stopped: () => new Promise(() => {}),
  });
  return { code, out, err: err.join('\n'), flushed };
};

const file = async (name: string, content: string): Promise<string> => {
  const path = join(folder, name);
  await writeFile(path, content, { mode: 0o600 });
  return path;
};

const tokensOf = async (email = EMAIL) => {
  const result = await client.generate({ email });
  if (result.status !== 'success') throw new Error('expected tokens');
  return result.tokens;
};

const rawIdOf = async (email: string): Promise<string> => {
  const [result] = await client.mapIdentities([{ email }]).toArray();
  if (result?.status !== 'mapped') throw new Error('expected a raw ID');
  return result.rawId;
};

const hash = (form: 'email' | 'phone', value: string) => hashTextOf(form, value)!;

describe('tessera generate', () => {
  test.each<[form: string, args: string[]]>([
    ['an email', [EMAIL]],
    ['an email with a plus in front', ['+user@example.com']],
    ['a phone number', ['+12345678901']],
    ['--email', ['--email', EMAIL]],
    ['--phone', ['--phone', '+12345678901']],
    ['--email-hash', ['--email-hash', hash('email', EMAIL)]],
    ['--phone-hash', ['--phone-hash', hash('phone', '+12345678901')]],
  ])('prints a token set for %s', async (_, args) => {
    const { code, out, err } = await tessera(['generate', ...args]);
    expect([code, err, out.length]).toEqual([0, '', 1]);
    expect(parseAnswer(JSON.parse(out[0]!))).toMatchObject({ advertisingToken: expect.any(String) });
    expect(asked).toEqual(['/v2/token/generate']);
  });

  test('sends --tcf-consent-string, which an operator of EUID reads', async () => {
    const participants = [{ apiKey: 'key-of-euid', clientSecret: SECRET, siteId: 101, roles: ['GENERATOR' as const] }];
    const euid = createOperator({ rootSecret: SECRET, scope: 'EUID', participants });
    const { url, close } = await listen(euid, { port: 0 });
    const given = { env: { TESSERA_BASE_URL: url, TESSERA_API_KEY: 'key-of-euid', TESSERA_CLIENT_SECRET: SECRET } };
    const generate = (consent: string) => tessera(['generate', EMAIL, '--tcf-consent-string', consent], given);
    try {
      const permitted = await generate(encodeTcString({ purposes: [1, 2, 3, 4, 7, 10], vendors: [21] }));
      expect([permitted.code, permitted.err]).toEqual([0, '']);
      expect(permitted.out[0]).toContain('"advertising_token"');
      const refused = await generate(encodeTcString({ purposes: [], vendors: [] }));
      expect(refused).toMatchObject({ code: 1, out: [] });
      expect(refused.err.trim()).toBe(
        "error: generate: POST /v2/token/generate answered 200: the user's consent string does not permit a token",
      );
      const empty = await generate('');
      expect(empty).toMatchObject({ code: 2, out: [] });
      expect(empty.err.trim()).toBe('error: --tcf-consent-string: expected a TCF consent string, got an empty one');
    } finally {
      await close();
      await euid.close();
    }
  });

  test('prints indented JSON, and one line with --json', async () => {
    expect((await tessera(['generate', EMAIL])).out[0]).toContain('\n  "body": {');
    expect((await tessera(['generate', EMAIL, '--json'])).out[0]).not.toContain('\n');
  });
});

test('tessera validate prints whether the token belongs to this user, and exits with 1 if not', async () => {
  const { advertisingToken } = await tokensOf();
  for (const [email, body, wanted] of [
    [EMAIL, true, 0],
    ['other@example.com', false, 1],
  ] as const) {
    const { code, out, err } = await tessera(['validate', advertisingToken, email]);
    expect([code, JSON.parse(out.join('')), err]).toEqual([wanted, { status: 'success', body }, '']);
  }
  expect(asked).toEqual(['/v2/token/validate']);
});

describe('tessera refresh', () => {
  test('reads the output of generate from a file', async () => {
    const { out } = await tessera(['generate', EMAIL]);
    const before = parseAnswer(JSON.parse(out[0]!));
    const result = await tessera(['refresh', await file('set.json', out[0]!), '--json']);
    expect([result.code, result.err]).toEqual([0, '']);
    const after = parseAnswer(JSON.parse(result.out[0]!));
    if (before === 'optout' || after === 'optout') throw new Error('expected tokens');
    expect(after.refreshToken).not.toBe(before.refreshToken);
    expect(asked).toEqual(['/v2/token/refresh']);
  });

  test('accepts token and key on the command line, with a warning', async () => {
    const { refreshToken, responseKeyB64 } = await tokensOf();
    const { code, out, err } = await tessera(['refresh', refreshToken, '--response-key', responseKeyB64]);
    expect([code, JSON.parse(out[0]!).status]).toEqual([0, 'success']);
    expect(err).toContain('warning: --response-key on the command line');
    expect(err).not.toContain(responseKeyB64);
  });

  test.each([31, 33])('a key of %i bytes exits with 2, and nothing is sent', async (bytes) => {
    const key = Buffer.alloc(bytes, 7).toString('base64');
    const { code, err } = await tessera(['refresh', 'ZZZZ-token', '--response-key', key]);
    expect([code, asked]).toEqual([2, []]);
    expect(err).toContain('--response-key: expected base64 of 32 bytes, got a string of 44 characters');
  });

  test('a refused token and a wrong key exit with 1 and are not quoted', async () => {
    const { refreshToken, responseKeyB64 } = await tokensOf();
    const wrong = await tessera(['refresh', refreshToken, '--response-key', SECRET]);
    const refused = await tessera(['refresh', 'ZZZZ-no-token', '--response-key', responseKeyB64]);
    expect([wrong.code, wrong.out, refused.code, refused.out]).toEqual([1, [], 1, []]);
    expect(refused.err).toContain('/v2/token/refresh answered 400');
    for (const secret of [refreshToken, responseKeyB64, SECRET, 'ZZZZ'])
      expect(wrong.err + refused.err).not.toContain(secret);
  });

  test.each<[what: string, content: string, said: string]>([
    ['no JSON', '{"a": 1,\n  ZZZZ-not-a-secret', 'standard input: expected JSON, got other text at line 2, column 3'],
    ['another JSON', '{"advertising_token":"ZZZZ-not-a-secret"}', 'standard input: refresh_token: expected string'],
    ['an opt-out', '{"status":"optout"}', 'standard input: expected a token set, got the answer for an opted-out user'],
    ['without end', ' '.repeat(100_000), 'standard input: expected a token set, got more than 65536 characters'],
  ])('a file that is %s is wrong use', async (_, content, said) => {
    const { code, out, err } = await tessera(['refresh', '-'], { stdin: [content] });
    expect([code, out, asked]).toEqual([2, [], []]);
    expect(err).toContain(said);
    expect(err).not.toContain('ZZZZ');
  });

  test('a token without --response-key is read as a file name and not quoted', async () => {
    const { refreshToken } = await tokensOf();
    const hidden = 'FILE (not shown: it looks like an address or a token)';
    for (const [argument, shown, reason] of [
      [refreshToken, hidden, '(the name is too long|no such file)'],
      ['user@example.com', hidden, 'no such file'],
      [SECRET, hidden, 'no such file'],
      ['+12345678901', hidden, 'no such file'],
      ['UID2-C-T-101-ab.cd', hidden, 'no such file'],
      ['/nowhere/in/a/folder/with/a/long/name', '/nowhere/in/a/folder/with/a/long/name', 'no such file'],
      ['nowhere/set.json', 'nowhere/set.json', 'no such file'],
      ['', '"" (an empty name)', 'no such file'],
      [folder, folder, 'it is a folder'],
    ] as const)
      expect(await tessera(['refresh', argument])).toMatchObject({
        code: 2,
        out: [],
        err: expect.stringMatching(new RegExp(`^error: could not read ${shown.replace(/[().]/g, '\\$&')}: ${reason}$`)),
      });
  });
});

test('tessera optout records an opt-out that generate respects', async () => {
  expect((await tessera(['generate', 'leaving@example.com', '--json'])).out[0]).toContain('success');
  const { code, out, err } = await tessera(['optout', 'Leaving@example.com', '--json']);
  expect([code, out, err, asked]).toEqual([0, ['{"status":"success"}'], '', ['/v2/token/logout']]);
  expect((await tessera(['generate', 'leaving@example.com', '--json'])).out).toEqual(['{"status":"optout"}']);
});

describe('tessera buckets', () => {
  // One of the million buckets rotates about every 30 seconds.
  const FROM = Math.floor(Date.now() / 86_400_000 - 1) * 86_400_000;
  const DAY = new Date(FROM).toISOString().slice(0, 10);

  test('prints CSV, and the next --since on standard error', async () => {
    const { code, out, err } = await tessera(['buckets', '--since', DAY]);
    expect([code, out[0], asked]).toEqual([0, 'bucketId,rotatedAt', ['/v2/identity/buckets']]);
    expect(out.length).toBeGreaterThan(100);
    for (const line of out.slice(1)) expect(line).toMatch(/^[\w+/=-]+,\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(err).toMatch(new RegExp(`^${out.length - 1} rotated; for the next call: --since \\d{4}-.*Z$`));
    // The printed value is accepted.
    const since = err.split(' ').at(-1)!;
    expect((await tessera(['buckets', '--since', since])).code).toBe(0);
  });

  test.each([DAY, `${DAY}T00:00`, `${DAY}T00:00:00.000Z`, `${DAY}T01:00+01:00`, `${FROM}`])(
    '--json prints the answer as one document; --since %s',
    async (since) => {
      const { code, out, err } = await tessera(['buckets', '--since', since, '--json']);
      expect([code, err, out.length]).toEqual([0, '', 1]);
      const { answeredAt, buckets } = await client.rotatedBuckets(FROM);
      const printed = JSON.parse(out[0]!);
      // Another bucket may rotate in between.
      const { length } = printed.buckets;
      expect(buckets.length - length).toBeLessThanOrEqual(2);
      const sorted = (list: { bucketId: string; rotatedAt: number }[]) =>
        list.toSorted((one, other) => one.rotatedAt - other.rotatedAt);
      expect(sorted(printed.buckets)).toEqual(sorted([...buckets]).slice(0, length));
      expect(Math.abs(printed.answeredAt - answeredAt)).toBeLessThan(60_000);
    },
  );

  test.each([
    [[], 'required option'],
    [['--since', 'yesterday'], 'expected YYYY-MM-DD'],
    [['--since', '1577836800'], 'expected YYYY-MM-DD'],
    [['--since', '2020-13-01'], 'expected YYYY-MM-DD'],
    [['--since', '2026-02-30'], 'expected YYYY-MM-DD'],
    [['--since', '2026-02-29T23:59:59+01:00'], 'expected YYYY-MM-DD'],
  ])('%j is wrong use', async (args, said) => {
    const { code, err } = await tessera(['buckets', ...args]);
    expect([code, asked]).toEqual([2, []]);
    expect(err).toContain(said);
  });
});

describe('tessera optouts', () => {
  const ids = async () => {
    const stays = await rawIdOf('stays@example.com');
    const left = await rawIdOf('left@example.com').catch(() => leftBefore);
    leftBefore = left;
    await client.optOut({ email: 'left@example.com' });
    return { stays, left };
  };
  let leftBefore = '';

  test('prints the opted-out raw IDs of a file as CSV', async () => {
    const { stays, left } = await ids();
    const path = await file('ids.txt', `\ufeff${stays}\r\n\r\n  ${left}  \r\n${stays}`);
    const { code, out, err } = await tessera(['optouts', path]);
    expect([code, err, asked]).toEqual([0, '1 of 3 have opted out', ['/v2/optout/status']]);
    expect(out).toEqual(['rawId,optedOutAt', expect.stringMatching(/^.{44},\d{4}-\d\d-\d\dT.*Z$/)]);
    expect(out[1]!.startsWith(left)).toBe(true);
  });

  test('prints JSON lines with --json, with and without a final line break in the input', async () => {
    const { left } = await ids();
    const { code, out, err } = await tessera(['optouts', '-', '--json'], { stdin: [`${left}\n`] });
    expect([code, err]).toEqual([0, '']);
    expect(out.map((line) => JSON.parse(line))).toEqual([{ rawId: left, optedOutAt: expect.any(Number) }]);
  });

  test('sends nothing for an empty file', async () => {
    const { code, out, err } = await tessera(['optouts', '-']);
    expect([code, out, err, asked]).toEqual([
      0,
      ['rawId,optedOutAt'],
      'warning: standard input: expected rows, got none: it is empty\n0 of 0 have opted out',
      [],
    ]);
  });

  test('streams: reads no further ahead than the batches in flight', async () => {
    const { left } = await ids();
    const ahead: number[] = [];
    const stdin = (function* () {
      for (let thousand = 0; thousand < 20; thousand++) {
        ahead.push(thousand - 5 * asked.length);
        yield `${left}\n`.repeat(1000);
      }
    })();
    const { code, out, flushed } = await tessera(['optouts', '-', '--json'], { stdin });
    expect([code, out.length, asked.length, flushed]).toEqual([0, 20_000, 4, 4]);
    expect(Math.max(...ahead)).toBeLessThanOrEqual(10);
  });

  test('--column with a number skips a first line that names the columns', async () => {
    const { left } = await ids();
    const { code, out, err } = await tessera(['optouts', '-', '--column', '2', '--json'], {
      stdin: [`Person,UID\nx,${left}\n`],
    });
    expect([code, out.length, err]).toEqual([0, 1, '']);
  });

  test('a line that is not a raw ID exits with 2, is named by its number and not sent', async () => {
    const { left } = await ids();
    const { code, out, err } = await tessera(['optouts', '-'], { stdin: [`${left}\n\n${EMAIL}\n`] });
    expect([code, out, err, asked]).toEqual([2, [], 'error: line 3: expected a raw ID, got other text', []]);
    const long = await tessera(['optouts', '-'], { stdin: Array(100).fill('x'.repeat(1000)) });
    expect([long.code, long.err]).toEqual([
      2,
      'error: standard input: expected lines of at most 65536 characters, got a longer one',
    ]);
  });

  test.each<[text: string, said: string]>([
    ['id,rawId\n1,LEFT\n2\n', 'error: line 3: expected 2 columns or more, got 1'],
    [
      'id,rawId\n1,LEFT\n"2,LEFT\n',
      'error: line 3: expected CSV, got a quote that is never closed, or is closed within the field',
    ],
  ])('a line whose raw ID cannot be found is not passed over: %j', async (text, said) => {
    const { left } = await ids();
    const { code, out, err } = await tessera(['optouts', '-'], { stdin: [text.replaceAll('LEFT', left)] });
    expect([code, out, err, asked]).toEqual([2, [], said, []]);
  });

  test.each(['+12345678901', '4915112345678', 'Smith', 'Anna-Maria_Smith'])(
    '%s is not a raw ID and not sent',
    async (value) => {
      const { code, err } = await tessera(['optouts', '-'], { stdin: [`${value}\n`] });
      expect([code, err, asked]).toEqual([2, 'error: line 1: expected a raw ID, got other text', []]);
    },
  );
});

describe('every command', () => {
  const COMMANDS: [command: string, args: string[]][] = [
    ['generate', [EMAIL]],
    ['validate', ['ZZZZ-token', EMAIL]],
    ['refresh', ['ZZZZ-token', '--response-key', SECRET]],
    ['optout', [EMAIL]],
    ['buckets', ['--since', '2020-01-01']],
    ['optouts', ['-']],
  ];
  const stdin = [`ZZZZ-id-of-a-user-${'x'.repeat(26)}\n`];

  const hidden = (text: string) => {
    for (const secret of [EMAIL, 'ZZZZ', SECRET, MAPPER_SECRET, 'key-of']) expect(text).not.toContain(secret);
  };

  test.each(COMMANDS)('%s: an unknown API key exits with 1', async (command, args) => {
    // The service checks the token of a refresh, not the API key.
    const { code, err } = await tessera([command, ...args], {
      env: { ...env, TESSERA_API_KEY: 'key-of-nobody' },
      stdin,
    });
    expect(code).toBe(1);
    expect(err).toContain(command === 'refresh' ? 'answered 400' : 'answered 401');
    hidden(err);
  });

  test.each(COMMANDS)('%s: a missing address, key or secret exits with 2', async (command, args) => {
    for (const name of Object.keys(env)) {
      const { code, out, err } = await tessera([command, ...args], { env: { ...env, [name]: '' }, stdin });
      expect([code, out, asked]).toEqual([2, [], []]);
      expect(err).toContain(`or ${name} in the environment or in the --env file, got none`);
      hidden(err);
    }
  });

  const SECRET_SAID = 'expected base64 of 32 bytes, got 3 bytes';
  test.each<[name: string, value: string, said: string]>([
    [
      'TESSERA_BASE_URL',
      'ZZZZ',
      'expected an absolute https URL (http is accepted for this machine), got a string that is not an absolute URL',
    ],
    ['TESSERA_BASE_URL', 'http://operator.example', 'expected an absolute https URL'],
    ['TESSERA_API_KEY', 'ZZZZ ü', 'expected printable ASCII without spaces, got a string with other characters'],
    ['TESSERA_CLIENT_SECRET', 'ZZZZ', SECRET_SAID],
    ['--base-url', 'ZZZZ', 'expected an absolute https URL'],
    ['--api-key', 'ZZZZ ü', 'expected printable ASCII without spaces'],
    ['--client-secret', 'ZZZZ', SECRET_SAID],
  ])('%s of %j exits with 2, is named as it was given and not quoted', async (name, value, said) => {
    const given = name.startsWith('--') ? { args: [name, value] } : { args: [], env: { ...env, [name]: value } };
    const { code, err } = await tessera(['generate', EMAIL, ...given.args], given);
    expect([code, asked]).toEqual([2, []]);
    expect(err).toContain(`error: ${name}: ${said}`);
    hidden(err);
  });

  test.each(COMMANDS)(
    '%s: an unknown option or extra argument exits with 2 and is not quoted',
    async (command, args) => {
      for (const more of [['--api-kye=ZZZZ'], [EMAIL, EMAIL, EMAIL], ['-ZZZZ'], ["--o'ZZZZ=ZZZZ"], ['--json=ZZZZ']]) {
        const { code, out, err } = await tessera([command, ...args, ...more], { stdin });
        expect([code, out, asked]).toEqual([2, [], []]);
        hidden(err);
      }
    },
  );

  test.each(['generate', 'optout', 'validate'])('%s: none or several DII exit with 2', async (command) => {
    const lead = command === 'validate' ? ['ZZZZ-token'] : [];
    for (const [args, said] of [
      [[], 'expected exactly one, as an argument or by --email, --phone, --email-hash, --phone-hash, got 0'],
      [[EMAIL, '--phone', '+12345678901'], 'got 2'],
      [['--email', EMAIL, '--email-hash', 'ZZZZ'], 'got 2'],
      [['ZZZZ'], 'DII: expected an email address, a phone number with a leading +'],
    ] as const) {
      const { code, err } = await tessera([command, ...lead, ...args]);
      expect([code, asked]).toEqual([2, []]);
      expect(err).toContain(said);
      hidden(err);
    }
  });

  test.each(['generate', 'optout', 'validate'])(
    '%s: invalid DII exits with 2, is not quoted and not sent',
    async (command) => {
      const lead = command === 'validate' ? [(await tokensOf()).advertisingToken] : [];
      asked.length = 0;
      for (const [args, said] of [
        [['ZZZZ@'], 'expected an email address'],
        [['ZZZZ <zzzz@example.com>'], 'expected an email address and nothing else'],
        [['+ZZZZ'], 'expected a phone number: + and 10 to 15 digits'],
        [['--phone', '555-ZZZZ'], 'expected a phone number: + and 10 to 15 digits'],
        [['--email-hash', 'ZZZZ'], 'expected a hash: 32 bytes in base64 or hexadecimal'],
        [['--phone-hash', ''], 'expected a value, got none'],
      ] as const) {
        const { code, out, err } = await tessera([command, ...lead, ...args]);
        expect([code, out, err, asked]).toEqual([2, [], `error: DII: ${said}`, []]);
      }
    },
  );

  test('without a role, the hint names the role that the request requires', async () => {
    const refusal = { status: 'unauthorized', message: 'API key not permitted for this operation' };
    const refusing = await listen({ fetch: async () => Response.json(refusal, { status: 401 }) }, { port: 0 });
    for (const [args, role] of [
      [['optout', EMAIL], 'OPTOUT'],
      [['generate', EMAIL], 'GENERATOR'],
      [['buckets', '--since', '2026-01-01'], 'MAPPER'],
    ] as const) {
      const { code, err } = await tessera([...args], { env: { ...env, TESSERA_BASE_URL: refusing.url } });
      expect([code, err.split('\n')[1]]).toEqual([
        1,
        `hint: check that the service knows this API key, and that it has the role ${role}: tessera doctor, with the same address and key`,
      ]);
    }
    await refusing.close();
  });

  test.each([
    ['generate', 'generate'],
    ['validate', 'validate'],
    ['map', 'mapIdentities'],
    ['optout', 'optOut'],
    ['buckets', 'rotatedBuckets'],
    ['optouts', 'optOutStatus'],
  ])('the help of %s names the roles that %s requires', async (command, method) => {
    const { out } = await tessera([command, '--help']);
    expect(out.join(' ').replace(/\s+/g, ' ')).toContain(`(role ${requiredRoles(method)})`);
  });

  test('after a refused timestamp the hint names the clock', async () => {
    const failure = { status: 'client_error', message: 'Invalid timestamp: Request too old or client time drift.' };
    const fetch = async () => new Response(JSON.stringify(failure), { status: 400 });
    const late = await listen({ fetch }, { port: 0 });
    const { code, err } = await tessera(['generate', EMAIL], { env: { ...env, TESSERA_BASE_URL: late.url } });
    await late.close();
    expect(code).toBe(1);
    expect(err).toMatch(/\nhint: set the clock of this machine: tessera doctor shows the difference$/);
  });
});

describe('tessera', () => {
  test('--version prints the version of the package', async () => {
    const { version } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'));
    expect(await tessera(['--version'])).toMatchObject({ code: 0, out: [version], err: '' });
  });

  test.each<[args: string[], said: string, hint: string]>([
    [['foo'], "error: unknown command 'foo'", 'tessera --help lists the commands'],
    [['optuot'], "error: unknown command 'optuot'\n(Did you mean optout?)", 'tessera --help lists the commands'],
    [['keys', 'lst'], "error: unknown command 'lst'\n(Did you mean list?)", 'tessera keys --help lists the commands'],
    [
      ['keys', 'list', '--databse', 'x'],
      "error: unknown option '--databse'\n(Did you mean --database?)",
      'tessera keys list --help lists the options',
    ],
    [['inspect'], "error: missing required argument 'file'", 'tessera inspect --help lists the options'],
  ])('wrong use names what was probably meant, and the help: %j', async (args, said, hint) => {
    expect(await tessera(args)).toMatchObject({ code: 2, out: [], err: `${said}\nhint: ${hint}` });
  });

  test('an unknown command is not quoted', async () => {
    const { code, err } = await tessera(["o'user@example.com"]);
    expect(code).toBe(2);
    expect(err).not.toContain('user@');
  });
});
