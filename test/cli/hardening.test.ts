/** What the command line does against hostile answers, readable files, and eyes on the command line. */

import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { csvLine } from '../../src/cli/output/csv-line.ts';
import { run } from '../../src/cli/program.ts';
import { createOperator } from '../../src/operator/index.ts';
import { type Listening, listen } from '../../src/operator/node.ts';

const SECRET = Buffer.alloc(32, 7).toString('base64');

let folder: string;
let service: Listening;
let env: Record<string, string>;
const operator = createOperator({
  rootSecret: SECRET,
  apiKey: 'key-of-all',
  clientSecret: SECRET,
  roles: ['GENERATOR', 'MAPPER', 'OPTOUT'],
});
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tessera-hardening-'));
  service = await listen(operator, { port: 0 });
  env = { TESSERA_BASE_URL: service.url, TESSERA_API_KEY: 'key-of-all', TESSERA_CLIENT_SECRET: SECRET };
});
afterAll(async () => {
  await service.close();
  await operator.close();
  await rm(folder, { recursive: true });
});

/** Run a command line. `whileReady` runs when an operator listens; it gets the lines of standard output. */
const tessera = async (
  args: string[],
  given: {
    env?: Record<string, string>;
    stdin?: AsyncIterable<string> | string[];
    whileReady?: (out: string[]) => Promise<void>;
  } = {},
) => {
  const out: string[] = [];
  const err: string[] = [];
  let ready = (): void => {};
  const listening = new Promise<void>((resolve) => (ready = resolve));
  const code = await run(args, {
    env: given.env ?? env,
    stdin: async function* () {
      yield* given.stdin ?? [];
    },
    out: (line) => {
      out.push(line);
      if (line.startsWith('listening on ')) ready();
    },
    err: (line) => err.push(line),
    data: () => {},
    flushed: async () => {},
    stopped: async () => {
      await listening;
      await given.whileReady?.(out);
    },
  });
  return { code, out, err: err.join('\n') };
};

const file = async (name: string, content: string | Uint8Array, mode: number): Promise<string> => {
  const path = join(folder, name);
  await writeFile(path, content);
  await chmod(path, mode);
  return path;
};

describe('the terminal', () => {
  const CONTROLS = /[^\P{C}\n\t]/u;

  test.each([{}, { FORCE_COLOR: '1' }])('obeys nothing that a service writes into a message (%j)', async (colours) => {
    const message = '\u001b]0;owned\u0007 \u009b2J \u202eevil \u001b[8m';
    const server = createServer((_, response) => {
      response.writeHead(400).end(JSON.stringify({ status: 'client_error', message }));
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    const { code, err } = await tessera(['generate', 'user@example.com'], {
      env: { ...env, ...colours, TESSERA_BASE_URL: `http://127.0.0.1:${port}` },
    });
    server.close();
    expect(code).toBe(1);
    expect(err).toContain('\\u001b]0;owned\\u0007 \\u009b2J \\u202eevil \\u001b[8m');
    // The colours of `error:`.
    const [lead, ...rest] = err.split('generate: ');
    expect(lead?.includes('\u001b')).toBe('FORCE_COLOR' in colours);
    expect(rest.join()).not.toMatch(CONTROLS);
  });

  test('obeys nothing that a token set contains', async () => {
    const set = {
      advertising_token: 'a\u009b31m\u202e',
      refresh_token: 'r',
      refresh_response_key: SECRET,
      identity_expires: 3,
      refresh_from: 2,
      refresh_expires: 4,
    };
    const path = await file('hostile.json', JSON.stringify({ ...set, '\u202e': 1, identity_expires: '\u202e' }), 0o600);
    const { err, out } = await tessera(['refresh', path]);
    expect(err + out.join()).not.toMatch(CONTROLS);
    expect(err).toContain('error: ');
  });

  test.each([{}, { FORCE_COLOR: '1' }])(
    'obeys nothing that the name of a file contains, with or without colours (%j)',
    async (colours) => {
      const { err } = await tessera(['inspect', 'no\u001b[8m\u001b[2J\u202ewhere'], { env: colours });
      expect(err).toContain('could not read no\\u001b[8m\\u001b[2J\\u202ewhere: no such file');
    },
  );
});

test('a spreadsheet evaluates no field of a line for spreadsheets; other programs get the fields as they are', () => {
  const fields = ['=1+1', '+12', '-1', '@x', '\ttab', 'plain', null, 5];
  expect(csvLine(fields, { isForSpreadsheet: true })).toBe("'=1+1,'+12,'-1,'@x,'\ttab,plain,,5");
  expect(csvLine(fields)).toBe('=1+1,+12,-1,@x,\ttab,plain,,5');
});

test.each([
  'postgres://tessera:secret@127.0.0.1:1/none',
  'postgres://tessera@127.0.0.1:1/none?password=secret',
  'postgres://127.0.0.1:1/none?user=tessera&password=secret',
])('a password in --database brings a warning: %s', async (database) => {
  const { err } = await tessera(['map', '--counts', '--database', database]);
  expect(err).toContain('warning: every user of this machine can read the password in --database');
});

test('a wrong root secret is named by its option or its variable', async () => {
  const path = await file('short-root', 'short', 0o600);
  const args = ['operator', '--port', '0', '--log-level', 'silent'];
  const said = ': expected 32 bytes, or their base64 or hexadecimal, got another string';
  expect((await tessera([...args, '--root-secret-file', path])).err).toContain(`error: --root-secret-file${said}`);
  const { err } = await tessera(args, { env: { TESSERA_ROOT_SECRET: 'short' } });
  expect(err).toContain(`error: TESSERA_ROOT_SECRET${said}`);
});

describe.skipIf(process.platform === 'win32')('a file with secrets that others can read', () => {
  const start = (args: string[]) =>
    tessera(['operator', '--port', '0', '--log-level', 'silent', ...args], { env: { TESSERA_API_KEY: 'key' } });
  const warning = (name: string, mode: string) =>
    `warning: ${name}: other users can read or change this file (mode ${mode}); run chmod 600 on it`;

  test('is used with a warning', async () => {
    const root = await file('root', Buffer.alloc(32, 5), 0o644);
    expect((await start(['--root-secret-file', root])).err).toContain(warning(`--root-secret-file: ${root}`, '0644'));
    const config = await file('config.json', JSON.stringify({ apiKey: 'key', clientSecret: SECRET }), 0o640);
    expect((await start(['--config', config])).err).toContain(warning(`--config: ${config}`, '0640'));
    const variables = await file('open.env', 'TESSERA_API_KEY=key', 0o644);
    expect((await tessera(['generate', 'nobody', '--env-file', variables])).err).toContain(
      warning(`--env: ${variables}`, '0644'),
    );
    const tokens = (await tessera(['generate', 'user@example.com'])).out.join('\n');
    const set = await file('set.json', tokens, 0o604);
    for (const command of ['refresh', 'inspect'])
      expect((await tessera([command, set])).err).toContain(warning(set, '0604'));
    for (const mode of ['0620', '0602'])
      expect(
        (await tessera(['refresh', await file(`set-${mode}.json`, tokens, Number.parseInt(mode, 8))])).err,
      ).toContain(`(mode ${mode})`);
  });

  test('brings a warning if it is the folder of a database that others can write to', async () => {
    const database = join(await mkdtemp(join(tmpdir(), 'tessera-shared-')), 'mappings');
    await mkdir(database);
    await chmod(database, 0o775);
    for (const args of [
      ['map', '--counts'],
      ['keys', 'list'],
    ])
      expect((await tessera([...args, '--database', database])).err).toContain(
        `warning: --database: ${database}: other users can write to this folder (mode 0775); run chmod go-w on it`,
      );
    await chmod(database, 0o755);
    expect((await tessera(['map', '--counts', '--database', database])).err).not.toContain('warning');
  });

  test('is named without its control characters', async () => {
    const path = await file('set\u001b[2J.json', '{"status":"optout"}', 0o644);
    expect((await tessera(['inspect', path])).err).toContain(warning(path.replace('\u001b', '\\u001b'), '0644'));
  });

  test.each(['inspect', 'refresh'])('%s: brings no warning if it is no token set', async (command) => {
    const rows = await file('people.csv', 'email\nuser@example.com\n', 0o644);
    expect((await tessera([command, rows])).err).toBe(
      `error: ${rows}: expected JSON, got other text at line 1, column 1`,
    );
    const other = await file('other.json', '{}', 0o644);
    expect((await tessera([command, other])).err).toMatch(/^error: .*: expected string, got undefined$/);
  });

  test('brings no warning if only the owner can read it, or if it holds no secret', async () => {
    const root = await file('own-root', Buffer.alloc(32, 5), 0o600);
    const harmless = await file('harmless.json', '{"siteId":7}', 0o644);
    const { err } = await start(['--root-secret-file', root, '--config', harmless]);
    expect(err).not.toContain('chmod 600');
    // No file of its user, as the pipe of a process substitution.
    expect((await tessera(['refresh', '/dev/null'])).err).toMatch(/^error: \/dev\/null: expected JSON/);
  });
});

test('of a file of variables, those of PostgreSQL alone reach the process, where its own come first', async () => {
  const names = ['PGOFFILE', 'PGOFBOTH', 'TESSERA_OF_FILE', 'NODE_OF_FILE'];
  const path = await file('process.env', names.map((name) => `${name}=of-the-file\n`).join(''), 0o600);
  process.env['PGOFBOTH'] = 'of-the-process';
  try {
    await tessera(['generate', 'nobody', '--env-file', path]);
    expect(names.map((name) => process.env[name])).toEqual(['of-the-file', 'of-the-process', undefined, undefined]);
  } finally {
    for (const name of names) delete process.env[name];
  }
});

describe('a file that Windows has written', () => {
  const encoded = (text: string) =>
    [
      ['UTF-8 with a byte order mark', Buffer.from(`\ufeff${text}`)],
      ['UTF-16', Buffer.from(`\ufeff${text}`, 'utf16le')],
    ] as const;

  test('is read by --env-file', async () => {
    const lines = Object.entries(env).map(([name, value]) => `${name}=${value}\r\n`);
    for (const [name, bytes] of encoded(lines.join(''))) {
      const path = await file(`${name}.env`, bytes, 0o600);
      const { code, err } = await tessera(['generate', 'user@example.com', '--env-file', path], { env: {} });
      expect([name, code, err]).toEqual([name, 0, '']);
    }
  });

  test('is read by --config', async () => {
    for (const [name, bytes] of encoded('{"port":0,"logLevel":"silent"}')) {
      const path = await file(`${name}.json`, bytes, 0o600);
      expect([name, (await tessera(['operator', '--config', path])).code]).toEqual([name, 0]);
    }
  });

  test('is refused if it has no variable', async () => {
    const path = await file('empty.env', '# nothing\n', 0o600);
    expect(await tessera(['generate', 'user@example.com', '--env', path], { env: {} })).toMatchObject({
      code: 2,
      err: `error: --env: ${path}: expected lines such as TESSERA_BASE_URL=https://operator.example, got no variable`,
    });
  });

  test('is refused if it is no text', async () => {
    const path = await file('binary.env', Buffer.from([0, 1, 2]), 0o600);
    const { code, err } = await tessera(['generate', 'user@example.com', '--env-file', path]);
    expect([code, err]).toEqual([
      2,
      `error: --env: ${path}: expected UTF-8, or UTF-16 with a byte order mark, got a zero byte at the start`,
    ]);
  });
});

describe('DII on standard input', () => {
  test('is read for -, in any pieces, up to the first line break', async () => {
    const { code, out } = await tessera(['generate', '-', '--json'], {
      stdin: ['user@exam', 'ple.com\r\nsecond line\n'],
    });
    expect(code).toBe(0);
    const { advertising_token } = JSON.parse(out[0]!).body;
    const validated = await tessera(['validate', advertising_token, '-', '--json'], { stdin: ['user@example.com'] });
    expect(JSON.parse(validated.out[0]!).body).toBe(true);
    expect((await tessera(['optout', '-'], { stdin: ['+12345678999\n'] })).code).toBe(0);
    expect(JSON.parse((await tessera(['generate', '+12345678999', '--json'])).out[0]!).status).toBe('optout');
  });

  test('is read from a pipe that stays open after the line', async () => {
    const stdin = (async function* () {
      yield 'user@example.com\n';
      await new Promise(() => {});
    })();
    expect((await tessera(['generate', '-', '--json'], { stdin })).code).toBe(0);
  });

  test.each([
    [[], 'error: DII: expected a line on standard input, got none'],
    [['\n'], 'error: DII: expected a line on standard input, got none'],
    [['x'.repeat(70_000)], 'error: DII: expected a line of at most 65536 characters, got a longer one'],
    [['nobody\n'], 'error: DII: expected an email address, a phone number with a leading +'],
  ])('exits with 2 for %j', async (stdin, message) => {
    const { code, err } = await tessera(['generate', '-'], { stdin });
    expect(code).toBe(2);
    expect(err.startsWith(message)).toBe(true);
  });
});

describe('tessera operator', () => {
  const start = (args: string[], whileReady?: (out: string[]) => Promise<void>) =>
    tessera(['operator', '--port', '0', '--log-level', 'silent', ...args], {
      env: { TESSERA_API_KEY: 'key', TESSERA_CLIENT_SECRET: SECRET, TESSERA_ROOT_SECRET: SECRET },
      ...(whileReady && { whileReady }),
    });

  test('warns if other machines can reach it, and points to the documentation', async () => {
    const { err } = await start(['--host', '0.0.0.0']);
    expect(err).toContain(
      'warning: --host: other machines reach this port by plain http; put a proxy with TLS in front (https://github.com/tessera-id/tessera/blob/main/docs/operating/deployment.md#tls-and-proxy)',
    );
    for (const host of ['127.0.0.1', 'localhost']) expect((await start(['--host', host])).err).not.toContain('--host');
  });

  test('serves metrics on a port of their own, and only there', async () => {
    const { code, out } = await start(['--metrics-port', '0'], async (lines) => {
      const [metrics] = lines.flatMap((line) => /^metrics on (.*)$/.exec(line)?.[1] ?? []);
      const [url] = lines.flatMap((line) => /^listening on (.*)$/.exec(line)?.[1] ?? []);
      expect((await fetch(metrics!)).status).toBe(200);
      expect((await fetch(`${url}/metrics`)).status).toBe(404);
      expect((await fetch(metrics!.replace('/metrics', '/ops/healthcheck'))).status).toBe(404);
    });
    expect([code, out.map((line) => line.split(' ')[0])]).toEqual([0, ['metrics', 'listening']]);
  });

  test('limits anonymous callers by the address that a trusted proxy names', async () => {
    await start(['--anonymous-rate-limit', '1', '--trust-proxy'], async ([line]) => {
      const url = line!.slice('listening on '.length);
      const refresh = async (client: string) => {
        const headers = { 'x-forwarded-for': client };
        return (await fetch(`${url}/v2/token/refresh`, { method: 'POST', body: '%', headers })).status;
      };
      const addresses = Array.from({ length: 20 }, (_, at) => `198.51.100.${at}`);
      expect(await Promise.all(addresses.map(refresh))).toEqual(addresses.map(() => 400));
      // Twenty at once: more than one of them in the same second.
      expect(await Promise.all(addresses.map(() => refresh('203.0.113.7')))).toContain(429);
    });
  });
});
