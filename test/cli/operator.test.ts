import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { run } from '../../src/cli/program.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tessera-cli-'));
});
afterAll(() => rm(folder, { recursive: true }));

const file = async (name: string, content: string | Uint8Array): Promise<string> => {
  const path = join(folder, name);
  await writeFile(path, content, { mode: 0o600 });
  return path;
};

/** Run a command line. Calls `whileReady` with the address when the port is open, then stops the command. */
const tessera = async (
  args: string[],
  {
    env = {},
    whileReady = async () => {},
  }: { env?: Record<string, string>; whileReady?: (url: string) => Promise<unknown> } = {},
) => {
  const out: string[] = [];
  const err: string[] = [];
  let ready = (_: string): void => {};
  const listening = new Promise<string>((resolve) => (ready = resolve));
  const code = await run(args, {
    env,
    stdin: async function* () {},
    data: () => {},
    flushed: async () => {},
    out: (line) => {
      out.push(line);
      if (line.startsWith('listening on ')) ready(line.slice('listening on '.length));
    },
    err: (line) => err.push(line),
    stopped: async () => void (await whileReady(await listening)),
  });
  return { code, out, err: err.join('\n') };
};

/** Production refuses a root secret of equal bytes. */
const SECRET = Buffer.from(Array.from({ length: 32 }, (_, index) => index)).toString('base64');
const OTHER = Buffer.alloc(32, 8).toString('base64');

describe('tessera operator', () => {
  test('creates and prints credentials, prints one line when it is ready, and stops at a signal', async () => {
    const { code, out, err } = await tessera(['operator', '--port', '0'], {
      whileReady: async (url) => {
        expect(await (await fetch(`${url}/ops/healthcheck`)).text()).toBe('OK');
      },
    });
    expect(code).toBe(0);
    const url = out.at(-1)!.slice('listening on '.length);
    expect(out).toEqual([
      expect.stringMatching(/^# site 101, roles GENERATOR,MAPPER[\w,]*$/),
      `export TESSERA_BASE_URL=${url}`,
      expect.stringMatching(/^export TESSERA_API_KEY=UID2-C-I-101-[0-9a-f]{6}\.\w{38}$/),
      expect.stringMatching(/^export TESSERA_CLIENT_SECRET=[\w+/]{43}=$/),
      `listening on http://127.0.0.1:${new URL(url).port}`,
    ]);
    expect(err).toContain('warning: no root secret: a random one is used');
    expect(err).toContain('warning: opt-outs are kept in memory');
  });

  test('with --drain-seconds, answers requests after a signal, but fails its health check', async () => {
    const statuses: number[] = [];
    const drained = new Promise<void>((resolve) => {
      void tessera(['operator', '--port', '0', '--drain-seconds', '5'], {
        whileReady: async (url) => {
          // Two slashes, as from a base URL that ends with one.
          const health = async () => (await fetch(`${url}//ops/healthcheck`)).status;
          statuses.push(await health());
          // After this function has returned, which is the signal.
          setImmediate(async () => {
            while (statuses.at(-1) !== 503) statuses.push(await health());
            statuses.push((await fetch(`${url}/v2/token/refresh`, { method: 'POST', body: 'AAAA' })).status);
          });
        },
      }).then(({ code }) => {
        statuses.push(code);
        resolve();
      });
    });
    await drained;
    expect([...new Set(statuses)]).toEqual([200, 503, 400, 0]);
  });

  test.each([
    ['--port', 65_535],
    ['--metrics-port', 65_535],
    ['--drain-seconds', 3600],
  ])('%s is a whole number from 0 to %d', async (option, most) => {
    for (const value of [-1, 1.5, most + 1]) {
      const { code, err } = await tessera(['operator', option, `${value}`]);
      expect(err).toBe(`error: ${option}: expected a whole number from 0 to ${most}, got ${value}`);
      expect(code).toBe(2);
    }
  });

  test('reads --roles in any case, with spaces', async () => {
    const { code, out } = await tessera(['operator', '--port', '0', '--roles', 'mapper, Generator ']);
    expect([code, out[0]]).toEqual([0, '# site 101, roles MAPPER,GENERATOR']);
  });

  test('names the variables that credentials come from, without their values, and prints no warning about them', async () => {
    const env = { TESSERA_API_KEY: 'key-of-env', TESSERA_CLIENT_SECRET: SECRET, TESSERA_ROOT_SECRET: OTHER };
    const { code, out, err } = await tessera(['operator', '--port', '0', '--log-level', 'silent'], { env });
    expect(code).toBe(0);
    expect(out).toEqual([expect.stringMatching(/^listening on http:\/\/127\.0\.0\.1:\d+$/)]);
    expect(err.split('\n')).toEqual([
      'warning: opt-outs are kept in memory and are lost when this process ends',
      'site 101: credentials from TESSERA_API_KEY and TESSERA_CLIENT_SECRET in the environment',
    ]);
  });

  test('names only the variables that it uses', async () => {
    const env = { TESSERA_API_KEY: 'key-of-env', TESSERA_CLIENT_SECRET: SECRET };
    const start = async (...more: string[]) =>
      (await tessera(['operator', '--port', '0', ...more], { env })).err
        .split('\n')
        .filter((line) => line.startsWith('site '));
    expect(await start('--api-key', 'key-of-line')).toEqual([
      'site 101: credentials from TESSERA_CLIENT_SECRET in the environment',
    ]);
    expect(await start('--api-key', 'key-of-line', '--client-secret', OTHER)).toEqual([]);
    // A secret alone defines no participant beside a list of them.
    const listed = { participants: [{ siteId: 7, apiKey: 'key-of-file', clientSecret: OTHER }] };
    const config = await file('listed.json', JSON.stringify(listed));
    const [origin] = await start('--config', config);
    expect(origin).toBe('site 101: credentials from TESSERA_API_KEY and TESSERA_CLIENT_SECRET in the environment');
    const secretOnly = await tessera(['operator', '--port', '0', '--config', config], {
      env: { TESSERA_CLIENT_SECRET: SECRET },
    });
    expect(secretOnly.out).toEqual([expect.stringMatching(/^listening/)]);
  });

  test('in memory, prints credentials at each start, or writes them to a file', async () => {
    const env = { TESSERA_ROOT_SECRET: SECRET };
    const start = (...more: string[]) => tessera(['operator', '--port', '0', ...more], { env });
    const printed = async () => (await start()).out.filter((line) => /API_KEY|CLIENT_SECRET/.test(line));
    const first = await printed();
    expect(first).toHaveLength(2);
    expect(await printed()).toEqual(first);
    const path = join(folder, 'derived.env');
    expect((await start('--env-file', path)).out).toEqual([
      `# address and credentials of site 101 are in ${path}`,
      expect.stringMatching(/^listening/),
    ]);
    expect(await readFile(path, 'utf8')).toMatch(/^TESSERA_API_KEY=UID2-C-I-101-/m);
  });

  test('accepts a secret on the command line with a warning that does not quote it', async () => {
    const args = ['operator', '--port', '0', '--api-key', 'key-of-line', '--client-secret', SECRET];
    const { code, out, err } = await tessera(args);
    expect([code, out]).toEqual([0, [expect.stringMatching(/^listening/)]]);
    expect(err).toContain('warning: --api-key on the command line');
    expect(err).toContain('warning: --client-secret on the command line');
    expect(err).not.toContain(SECRET);
    expect(err).not.toContain('key-of-line');
  });

  test('derives the same credentials from the same root secret, whichever way it is given', async () => {
    const args = (...more: string[]) => ['operator', '--port', '0', ...more];
    const env = { TESSERA_ROOT_SECRET: SECRET };
    const credentials = async (run: ReturnType<typeof tessera>) =>
      (await run).out.filter((line) => /API_KEY|CLIENT_SECRET/.test(line));
    const wanted = await credentials(tessera(args(), { env }));
    const { binary, base64, config } = {
      binary: await file('root.bin', Buffer.from(SECRET, 'base64')),
      base64: await file('root.txt', `${SECRET}\n`),
      config: await file('root.json', JSON.stringify({ rootSecret: SECRET })),
    };
    expect(await credentials(tessera(args('--root-secret-file', binary)))).toEqual(wanted);
    expect(await credentials(tessera(args('--root-secret-file', base64)))).toEqual(wanted);
    expect(await credentials(tessera(args('--config', config)))).toEqual(wanted);
    expect(
      await credentials(tessera(args('--root-secret-file', base64), { env: { TESSERA_ROOT_SECRET: OTHER } })),
    ).toEqual(wanted);
    expect(await credentials(tessera(args(), { env: { TESSERA_ROOT_SECRET: OTHER } }))).not.toEqual(wanted);
    const named = await file('named.json', JSON.stringify({ rootSecretFile: await file('other.txt', OTHER) }));
    expect(await credentials(tessera(args('--config', named)))).not.toEqual(wanted);
    // The environment takes precedence over a secret file that --config names.
    expect(await credentials(tessera(args('--config', named), { env }))).toEqual(wanted);
  });

  test('in production refuses a root secret of 32 printable characters', async () => {
    const text = 'ab01'.repeat(8);
    const path = await file('printable.txt', text);
    const start = (environment: string) =>
      tessera(['operator', '--port', '0', '--root-secret-file', path, '--environment', environment]);
    const { code, err } = await start('production');
    expect(code).toBe(2);
    expect(err).toContain('expected 32 random bytes or their base64');
    expect(err).not.toContain(text);
    expect((await start('integration')).code).toBe(0);
  });

  test('prefers options on the command line to the file', async () => {
    const config = await file(
      'options.json',
      JSON.stringify({
        environment: 'production',
        scope: 'EUID',
        rootSecret: SECRET,
        participants: [{ siteId: 7, roles: ['MAPPER'] }, { siteId: 8 }],
        port: 1,
      }),
    );
    const args = ['operator', '--config', config, '--port', '0', '--scope', 'UID2'];
    const { code, out } = await tessera(args);
    expect(code).toBe(0);
    expect(out.filter((line) => line.includes('API_KEY'))).toEqual([
      expect.stringMatching(/^export TESSERA_API_KEY=UID2-C-P-7-/),
      expect.stringMatching(/^export TESSERA_API_KEY=UID2-C-P-8-/),
    ]);
    expect(out).toContain('# site 7, roles MAPPER');
  });

  test('logs one JSON line per request on standard error, without its content', async () => {
    const { err } = await tessera(['operator', '--port', '0'], {
      whileReady: (url) =>
        fetch(`${url}/v2/token/refresh?email=user@example.com`, { method: 'POST', body: 'user@example.com' }),
    });
    const lines = err.split('\n').filter((line) => line.startsWith('{'));
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { msg: 'answered', method: 'POST', path: '/v2/token/refresh', http: 400, status: 'client_error' },
      { msg: 'stopping' },
    ]);
    expect(err).not.toContain('user@example.com');
  });

  test('prints an IPv6 address in brackets', async () => {
    const { out } = await tessera(['operator', '--port', '0', '--host', '::1']);
    expect(out.at(-1)).toMatch(/^listening on http:\/\/\[::1\]:\d+$/);
  });

  test.each<[what: string, args: string[], said: string, config?: string]>([
    ['an unknown option', ['--prot', '1'], "unknown option '--prot'"],
    ['an unknown option with a value', ['--api-kye=ZZZZ-not-a-secret'], "unknown option '--api-kye'"],
    ['an endless number', ['--site-id', 'Infinity'], "argument '...' is invalid: expected a number"],
    [
      'a site ID on the command line that is none, beside a file',
      ['--site-id', '0'],
      'error: --site-id: expected a whole number',
      '{"roles":["MAPPER"]}',
    ],
    [
      'a site ID in the file that is none, beside one on the command line',
      ['--site-id', '7'],
      'error: participants[0].siteId: expected a whole number',
      '{"participants":[{"siteId":0}]}',
    ],
    ['an environment that is none', ['--environment', 'test'], 'Allowed choices are integration, production'],
    [
      'lifetimes out of order',
      ['--identity-expires', '5'],
      'error: --refresh-from: expected at most --identity-expires (5), got 900',
    ],
    ['an unsupported database', ['--database', 'mysql://ZZZZ-not-a-secret@host'], 'expected a folder or postgres://'],
    [
      'a missing root secret file',
      ['--root-secret-file', '/nowhere/at/all'],
      '--root-secret-file: could not read /nowhere/at/all: no such file',
    ],
    [
      'a missing file whose name is that of an option',
      ['--root-secret-file', '/nowhere/rootSecret'],
      '--root-secret-file: could not read /nowhere/rootSecret: no such file',
    ],
    ['an empty host', ['--host', ''], 'error: --host: expected an address, got an empty string'],
    ['a file that is no JSON', [], '.json: expected JSON, got other text at line 1, column 1', 'ZZZZ-not-a-secret'],
    ['a file of another kind', [], '--config: expected a JSON object', '[]'],
    ['a misspelt name in the file', [], 'got "identityExpire"', '{"identityExpire":5}'],
    [
      'an option in the file that only a program has',
      [],
      'got "keepStoredParticipant"',
      '{"keepStoredParticipant":true}',
    ],
    ['a wrong option in the file', [], 'error: roles: expected array', '{"roles":"MAPPER"}'],
    ['a root secret file that is no path', [], 'rootSecretFile: expected string, got number', '{"rootSecretFile":5}'],
    ['a log level that is none', [], 'logLevel: expected info or warn or error or silent', '{"logLevel":"loud"}'],
  ])('%s exits with 2', async (_, args, said, config) => {
    const given = config === undefined ? [] : ['--config', await file('wrong.json', config)];
    const { code, out, err } = await tessera(['operator', '--port', '0', ...args, ...given]);
    expect([code, out]).toEqual([2, []]);
    expect(err).toContain(said);
    expect(err).not.toContain('ZZZZ-not-a-secret');
  });

  test('a database that cannot be reached is reported once, in words', async () => {
    const { code, out, err } = await tessera(['operator', '--port', '0', '--database', 'postgres://127.0.0.1:1/none']);
    expect([code, out]).toEqual([1, []]);
    expect(err).toMatch(/^error: database: .*ECONNREFUSED.*$/);
  });

  test('a port in use exits with 1, a wrong option beside it with 2', async () => {
    let second: Awaited<ReturnType<typeof tessera>> | undefined;
    let wrong: Awaited<ReturnType<typeof tessera>> | undefined;
    await tessera(['operator', '--port', '0'], {
      whileReady: async (url) => {
        const args = ['operator', '--port', new URL(url).port];
        second = await tessera(args);
        wrong = await tessera([...args, '--rotation-period', '5']);
      },
    });
    expect(wrong).toMatchObject({
      code: 2,
      err: expect.stringContaining('error: --rotation-period: expected a whole number'),
    });
    expect(second!.code).toBe(1);
    expect(second!.err).toMatch(
      /error: could not listen on 127\.0\.0\.1:\d+ \(EADDRINUSE\): another process uses the port; choose another with --port, or 0 for any free one$/,
    );
    // No credentials are printed for an operator that does not run.
    expect(second!.out).toEqual([]);
  });
});
