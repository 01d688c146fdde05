/** The library of hosts/android/ on a JVM: the contract, and what it does with threads, a storage and a server that fail. */

import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { root } from '../../build/dist.ts';
import { INSTALL_MS } from '../../build/packages.ts';
import { contractOnJvm, missing, startAndroidApp, startJvm } from '../support/android.ts';

beforeAll(() => (missing ? undefined : startJvm()), INSTALL_MS);

const FILE = `${root}hosts/contract/cases.txt`;
const origin = 'https://www.publisher.example';
const polled = <T>(read: () => Promise<T>) => expect.poll(read, { timeout: 20_000 });

/** An answer to a sign-in whose set is due `dueMs` from now. */
const answer = (dueMs = 900_000): string =>
  JSON.stringify({
    advertising_token: 'a-token',
    refresh_token: 'a-refresh-token-of-nobody',
    refresh_response_key: btoa('k'.repeat(32)),
    refresh_from: Date.now() + dueMs,
    identity_expires: Date.now() + 3_600_000,
    refresh_expires: Date.now() + 86_400_000,
  });

const start = (baseUrl = 'https://operator.example', more = {}) =>
  startAndroidApp({ baseUrl, origin, owner: 'APP', ...more });

/** A server; `closed` is true once the client has ended a request. */
const serve = async (listener: RequestListener) => {
  const state = { closed: false };
  const server = createServer((request, response) => {
    response.on('close', () => {
      state.closed = true;
    });
    listener(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.closeAllConnections());
  onTestFinished(() => void server.close());
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, isClosed: async () => state.closed };
};

describe.skipIf(missing)(`the Kotlin library${missing ? ` (missing: ${missing})` : ''}`, () => {
  test('keeps the contract, case by case', async () => {
    const casesOf = (text: string) =>
      text
        .trim()
        .split('\n\n')
        .filter((one) => /^\d/.test(one));
    const expected = casesOf(await readFile(FILE, 'utf8'));
    const done = casesOf(await contractOnJvm(FILE));
    for (const [index, one] of expected.entries()) expect(done[index]).toBe(one);
  });

  test('called from four threads, the last call counts, and is stored', async () => {
    const app = await start();
    await app.call('threads', answer());
    expect([await app.token(), (await app.stored()).user]).toEqual([null, 'signedOut']);
  });

  test('a logout that the storage refuses is an error, also one that hangs for 10 s, and blocks no later one', async () => {
    const app = await start();
    await app.call('signedIn', answer());
    for (const mode of ['write', 'hang']) {
      await app.call('storage', mode);
      const logout = app.call('signedOut').catch((error: Error) => error.message);
      await app.call('ahead', { ms: mode === 'hang' ? 11_000 : 0 });
      expect(await logout).toMatch(/^the storage has not confirmed the change: (IOException|late)$/);
      expect(await app.token()).toBeNull();
    }
    await app.call('storage', '');
    await app.call('signedOut');
    expect((await app.stored()).user).toBe('signedOut');
  });

  test("the app's functions that throw harm nothing", async () => {
    const app = await start();
    await app.call('fail', 'yes');
    await app.call('signedIn', answer());
    await app.call('signedOut');
    await app.call('fail', 'no');
    expect((await app.stored()).user).toBe('signedOut');
    await polled(async () => app.log).toContain('onToken: IllegalStateException');
  });

  test('a second host over one storage is an error until the first is closed, which leaves no timer', async () => {
    const app = await start('https://operator.example', { key: 'one' });
    await app.call('signedIn', answer());
    const again = () => app.call('start', { baseUrl: 'https://operator.example', origin, owner: 'APP', key: 'one' });
    await expect(again()).rejects.toThrow('storage: another host has it');
    await app.call('close');
    expect(await app.call('timers')).toBe(0);
    await expect(app.call('signedOut')).rejects.toThrow('the host is closed');
    await again();
  });

  test('the storage of a closed host is taken until a write that was late has ended', async () => {
    const options = { baseUrl: 'https://operator.example', origin, owner: 'APP', key: 'late' };
    const app = await start(options.baseUrl, options);
    await app.call('storage', 'hang');
    const logout = app.call('signedOut').catch((error: Error) => error.message);
    await app.call('ahead', { ms: 11_000 });
    expect(await logout).toContain('late');
    let ended = 0;
    const closing = ['suspend', 'callback', 'suspend'].map((how) => app.call('close', how).then(() => ended++));
    await expect(app.call('start', options)).rejects.toThrow('storage: another host has it');
    expect(ended).toBe(0);
    await app.call('storage', '');
    await Promise.all(closing);
    await app.call('close'); // once more, when it has ended
    await app.call('start', options);
  });

  test('what a page sends is read without copies of the rest: twice the numbers cost twice the memory', async () => {
    const app = await start();
    const bytes = async (count: number) =>
      Number(await app.call('parse', JSON.stringify({ ns: new Array(count).fill(1) })));
    await bytes(1_000); // what is loaded once
    expect(await bytes(32_000)).toBeLessThan(3 * (await bytes(16_000)));
  });

  test('a call that is on its way when the host is closed is an error, and writes nothing', async () => {
    const app = await start();
    await app.call('signedIn', answer());
    await expect(app.call('closeAfter')).rejects.toThrow('the host is closed');
    expect((await app.stored()).user).toBe('signedIn');
  });

  test('the next host can have the webviews of one that was closed', async () => {
    const options = { baseUrl: 'https://operator.example', origin, owner: 'APP', key: 'views' };
    const app = await start(options.baseUrl, options);
    await app.call('open', 'view');
    await app.call('close');
    await app.call('start', options);
    await app.call('open', 'view');
    await app.call('detach', 'view');
    await app.call('open', 'view');
  });

  test('onToken finds its token at the host, also at the start', async () => {
    const app = await start();
    await app.call('signedIn', answer());
    await app.restart();
    await polled(() => app.call('shown')).toBe('a-token');
  });

  /** A `KeystoreStorage` over an empty folder and an empty Keystore. */
  const keystore = async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tessera-keystore-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const app = await start();
    const use = (to: string, text?: string) => app.call('keystore', { to, folder, text: text ?? null });
    await use('install');
    return { file: join(folder, 'tessera'), use };
  };

  test('KeystoreStorage tells a file that is absent from one that cannot be read', async () => {
    const { file, use } = await keystore();
    expect(await use('read')).toBeNull();
    await writeFile(file, 'of another key');
    await expect(use('read')).rejects.toThrow('the key is lost');
    await use('write', 'state');
    expect(await use('read')).toBe('state');
  });

  test('KeystoreStorage cannot tell who is signed in until the device has been unlocked', async () => {
    const { use } = await keystore();
    await use('unlocked', 'no');
    onTestFinished(async () => void (await use('unlocked', 'yes')));
    await expect(use('read')).rejects.toThrow('nobody has unlocked the device');
  });

  test('KeystoreStorage reports a file that could not be replaced, of which AtomicFile says nothing', async () => {
    const { file, use } = await keystore();
    await mkdir(join(file, 'in-the-way'), { recursive: true });
    await expect(use('write', 'state')).rejects.toThrow();
  });

  test('KeystoreStorage writes one file at a time: the later write is the one that is read', async () => {
    const { use } = await keystore();
    await use('write twice');
    expect(await use('read')).toBe('later');
  });

  test.each(['invalid', 'unrecoverable'])('KeystoreStorage replaces a key that is %s', async (fault) => {
    const { use } = await keystore();
    await use('write', 'former');
    await (fault === 'invalid' ? use('invalidate') : use('fault', fault));
    await expect(use('read')).rejects.toThrow();
    await use('write', 'state');
    expect(await use('read')).toBe('state');
  });

  test('KeystoreStorage keeps the key when the Keystore fails for a while', async () => {
    const { use } = await keystore();
    await use('write', 'state');
    await use('fault', 'busy');
    await expect(use('write', 'next')).rejects.toThrow('too many operations');
    await use('fault', '');
    expect(await use('read')).toBe('state');
  });

  test('Java can leave out what has a default', async () => {
    const app = await start();
    await app.call('java');
  });

  test('an answer without an end is read up to 64 KiB', async () => {
    const { baseUrl, isClosed } = await serve((_, response) => {
      const more = () => response.write('x'.repeat(16_384), () => response.destroyed || more());
      more();
    });
    const app = await start(baseUrl);
    await app.call('signedIn', answer(0));
    await polled(async () => app.log).toContain('refresh: failed IOException');
    await polled(isClosed).toBe(true);
  });

  test.each([
    ['a logout', (app: Awaited<ReturnType<typeof start>>) => app.call('signedOut')],
    ['60 seconds', (app: Awaited<ReturnType<typeof start>>) => app.call('ahead', { ms: 61_000 })],
    ['close', (app: Awaited<ReturnType<typeof start>>) => app.call('close')],
  ])('an answer that drips is ended by %s', async (_, end) => {
    let isAsked = false;
    const { baseUrl, isClosed } = await serve((_request, response) => {
      const drip = setInterval(() => response.write('x'), 20);
      response.on('close', () => clearInterval(drip));
      isAsked = true;
    });
    const app = await start(baseUrl);
    await app.call('signedIn', answer(0));
    await polled(async () => isAsked).toBe(true);
    await end(app);
    await polled(isClosed).toBe(true);
  });

  test.each([
    ['*', 'origins: expected an origin'],
    ['www.publisher.example', 'origins: expected an origin'],
    ['https://a.example/path', 'origins: expected an origin'],
    ['http://a.example', 'origins: expected an origin'],
    ['http://127.a.example', 'origins: expected an origin'],
    ['HTTPS://WWW.Publisher.example:443/', undefined],
    ['capacitor://localhost', undefined],
  ])('origin %s: %s', async (given, fault) => {
    const begin = start('https://operator.example', { origin: given });
    if (fault) await expect(begin).rejects.toThrow(fault);
    else await begin;
  });

  test('a base URL without https, and an answer that is none, are errors that do not quote it', async () => {
    await expect(start('http://operator.example')).rejects.toThrow('baseUrl: expected an absolute https URL');
    const app = await start();
    const late = { ...JSON.parse(answer()), refresh_from: 1_900_000_000 };
    const wrong = [{}, { status: 'error' }, { status: 'success', body: {} }, late].map((one) => JSON.stringify(one));
    for (const text of ['', '{', '[]', 'null', '[['.repeat(50_000), ...wrong])
      await expect(app.call('signedIn', text)).rejects.toThrow(
        /^answer: expected the JSON of a generate answer, its body or an opt-out$/,
      );
  });
});
