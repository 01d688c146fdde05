/** TLS to a real PostgreSQL whose certificate comes from an authority of the test. */

import { execFile } from 'node:child_process';
import { chmod, chown, copyFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { openDatabase } from '../../src/database/database.ts';
import { emptyFolder } from './locations.ts';
import { PASSWORD, type PostgresServer, startPostgres, unprivileged } from './postgres-server.ts';
import { startProxy } from './proxy.ts';

const hasOpenssl = await promisify(execFile)('openssl', ['version']).then(
  () => true,
  () => false,
);
// In CI it must be there: `.ci/run` installs it.
if (!hasOpenssl && process.env['TESSERA_ENGINES'] === 'all')
  throw new Error('expected the program openssl, which .ci/run installs, found none');

/** The name of the server. It stands for another machine, but is this one. */
const HOST = 'db.example';

let server: PostgresServer;
let folder: string;

const openssl = (...args: string[]) => promisify(execFile)('openssl', args, { cwd: folder });

/** Create an authority, `NAME.pem` and `NAME.key`. */
const createAuthority = (name: string) =>
  openssl(
    ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', `/CN=${name}`],
    ...['-keyout', `${name}.key`, '-out', `${name}.pem`],
  );

/** Give the server a certificate for a host name, from `ca`. */
const certify = async (host: string): Promise<void> => {
  await openssl(
    ...['req', '-newkey', 'rsa:2048', '-nodes', '-subj', `/CN=${host}`],
    ...['-keyout', `${host}.key`, '-out', `${host}.csr`],
  );
  await writeFile(join(folder, 'names'), `subjectAltName=DNS:${host}`);
  await openssl(
    ...['x509', '-req', '-days', '2', '-in', `${host}.csr`, '-extfile', 'names', '-out', `${host}.pem`],
    ...['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial'],
  );
  const [key, certificate, user] = [join(folder, 'server.key'), join(folder, 'server.pem'), await unprivileged()];
  await copyFile(join(folder, `${host}.key`), key);
  await copyFile(join(folder, `${host}.pem`), certificate);
  // The server accepts only a key that nobody else can read.
  await chmod(key, 0o600);
  if (user.uid !== undefined) for (const path of [folder, key, certificate]) await chown(path, user.uid, user.gid!);
  const admin = await openDatabase(server.url('postgres'), { connections: 1 });
  await admin.script(`ALTER SYSTEM SET ssl_cert_file = '${certificate}'`);
  await admin.script(`ALTER SYSTEM SET ssl_key_file = '${key}'`);
  await admin.script('ALTER SYSTEM SET ssl = on');
  await admin.query('SELECT pg_reload_conf()');
  await admin.close();
  // The server reads the files soon after the request.
  const subject = async () => {
    const { stdout } = await promisify(execFile)('sh', [
      '-c',
      'echo | openssl s_client -starttls postgres -connect "$0" 2>&1 | openssl x509 -noout -subject 2>&1 || true',
      `127.0.0.1:${server.port}`,
    ]);
    return stdout;
  };
  await expect.poll(subject, { timeout: 60_000, interval: 100 }).toContain(host);
};

const urlOf = (parameters: string, port = server.port): string =>
  `postgres://tessera:${PASSWORD}@${HOST}:${port}/postgres${parameters}`;

describe.skipIf(!hasOpenssl)('a PostgreSQL on another machine', () => {
  beforeAll(async () => {
    // The environment of the machine must not decide.
    vi.stubEnv('PGSSLMODE', '');
    server = await startPostgres();
    folder = await emptyFolder();
    await Promise.all([createAuthority('ca'), createAuthority('other-ca')]);
    const dns = createRequire(import.meta.url)('node:dns') as typeof import('node:dns');
    const lookup = dns.lookup as (...given: unknown[]) => void;
    vi.spyOn(dns, 'lookup').mockImplementation(((host: string, ...rest: unknown[]) =>
      lookup(host === HOST ? '127.0.0.1' : host, ...rest)) as never);
  });
  afterAll(async () => {
    vi.restoreAllMocks();
    vi.unstubAllEnvs();
    await server.stop();
  });

  test('that offers no TLS is not sent the password or the user', async () => {
    const sent: Buffer[] = [];
    const proxy = await startProxy(server.port, (bytes) => sent.push(bytes));
    await expect(openDatabase(urlOf('', proxy.port))).rejects.toThrow(
      /does not support SSL connections; .*sslmode=disable/,
    );
    await proxy.close();
    const text = Buffer.concat(sent).toString('latin1');
    expect(text.length).toBeGreaterThan(0);
    expect(text).not.toContain('tessera');
    expect(text).not.toContain(PASSWORD);
  });

  test('is reached with its own certificate authority, by every connection', async () => {
    await certify(HOST);
    const database = await openDatabase(urlOf(`?sslrootcert=${join(folder, 'ca.pem')}`), { statementTimeoutMs: 5000 });
    const isEncrypted = 'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()';
    expect(await database.query(isEncrypted)).toEqual([{ ssl: true }]);
    const subscription = await database.subscribe!('changes', () => {});
    expect(await subscription.query(isEncrypted)).toEqual([{ ssl: true }]);
    subscription.close();
    await database.close();
  });

  test('is refused if its certificate comes from another authority or has another name, with the remedy', async () => {
    await certify(HOST);
    const remedy = 'for your own certificate authority, add sslrootcert=FILE to the URL';
    await expect(openDatabase(urlOf(''))).rejects.toThrow(remedy);
    await expect(openDatabase(urlOf(`?sslrootcert=${join(folder, 'other-ca.pem')}`))).rejects.toThrow(remedy);
    await certify('other.example');
    await expect(openDatabase(urlOf(`?sslrootcert=${join(folder, 'ca.pem')}`))).rejects.toThrow(
      /altnames.*other\.example/,
    );
  });

  test('is reached in plain text with sslmode=disable only', async () => {
    await certify(HOST);
    const database = await openDatabase(urlOf('?sslmode=disable'));
    expect(await database.query('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()')).toEqual([{ ssl: false }]);
    await database.close();
  });
});
