/** The testbed as a user's test sees it: time, faults, users, and what is left after `close()`. */

import { promisify } from 'node:util';
import { runInNewContext } from 'node:vm';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { memoryStore } from '../../src/session/index.ts';
import { createTestbed, type Span, type Testbed, type TestbedOptions } from '../../src/testing/index.ts';
import { names, recordEvents } from '../support/clock.ts';

let testbed: Testbed;
const open = (options?: TestbedOptions) => {
  testbed = createTestbed(options);
  return testbed;
};
afterEach(() => testbed.close());

/** A session with a token in force, and its events from here on. */
const loaded = async (options?: Parameters<Testbed['session']>[0]) => {
  const session = testbed.session(options);
  const token = await session.getToken();
  await testbed.advance();
  return { session, token, events: recordEvents(session) };
};
const HOUR = 3_600_000;

describe('time', () => {
  test('a session gets a token without `advance`, and refreshes when time has moved', async () => {
    open();
    const { session, token, events } = await loaded();
    await testbed.advance('14 min');
    expect(session.advertisingToken).toBe(token);
    await testbed.advance('6 min');
    expect(session.advertisingToken).not.toBe(token);
    expect(names(events)).toEqual([`token refresh`]);
  });

  test('advances by exactly the span, for page, operator and `Date`', async () => {
    open({ start: new Date('2031-05-01T00:00:00Z') });
    expect(testbed.now()).toBe(Date.UTC(2031, 4, 1));
    const before = performance.now();
    await testbed.advance('90 s');
    await testbed.advance(500);
    expect(testbed.now()).toBe(Date.UTC(2031, 4, 1) + 90_500);
    expect(Date.now()).toBe(testbed.now());
    expect(new Date().toISOString()).toBe('2031-05-01T00:01:30.500Z');
    expect(new Date(0).toISOString()).toBe('1970-01-01T00:00:00.000Z');
    expect(new Date()).toBeInstanceOf(Date);
    expect(Date()).toBe(new Date(testbed.now()).toString());
    expect(performance.now() - before).toBe(90_500);
    class Later extends Date {}
    expect(new Later()).toBeInstanceOf(Later);
    expect(new Later().getTime()).toBe(testbed.now());
  });

  test.each<[span: Span, ms: number]>([
    [0, 0],
    ['1 ms', 1],
    ['1.5s', 1_500],
    ['2 sec', 2_000],
    ['1 second', 1_000],
    ['3 seconds', 3_000],
    ['1 min', 60_000],
    ['1 minute', 60_000],
    ['2 minutes', 120_000],
    ['1 h', HOUR],
    ['1 hour', HOUR],
    ['0.5 hours', HOUR / 2],
    ['1 d', 24 * HOUR],
    ['1 day', 24 * HOUR],
    ['2 days', 48 * HOUR],
  ])('the span %j is %i ms', async (span, ms) => {
    open();
    const before = testbed.now();
    await testbed.advance(span);
    expect(testbed.now() - before).toBe(ms);
  });

  test('slow Web Crypto causes no time-out: time stands still until it is done', async () => {
    const { decrypt } = crypto.subtle;
    const slow = vi.spyOn(crypto.subtle, 'decrypt').mockImplementation(async (...given) => {
      for (let turns = 0; turns < 500; turns++) await new Promise((resolve) => setImmediate(resolve));
      return decrypt.apply(crypto.subtle, given);
    });
    open();
    const { session, token, events } = await loaded({ timeoutMs: 50 });
    await testbed.advance('1 h');
    expect(names(events)).toEqual(['token refresh', 'token refresh', 'token refresh', 'token refresh']);
    expect(session.advertisingToken).not.toBe(token);
    slow.mockRestore();
  });

  test('timers run in their order, and one that is cleared does not', async () => {
    open();
    const ran: string[] = [];
    setTimeout((name: string) => ran.push(`${name} ${testbed.now() % 60_000}`), 300, 'late');
    setTimeout(() => ran.push('early'), 100);
    const cleared = setTimeout(() => ran.push('cleared'), 200);
    const repeated = setInterval(() => ran.push('repeated') > 4 && clearInterval(repeated), 120);
    clearTimeout(cleared);
    await testbed.advance(1_000);
    expect(ran).toEqual(['early', 'repeated', 'repeated', 'late 300', 'repeated']);
  });

  test('timers of one instant run in the order of their start; a delay that is too long is the shortest', async () => {
    open();
    const ran: string[] = [];
    for (const name of ['first', 'second']) setTimeout(() => ran.push(name), 10);
    setTimeout(() => ran.push('too long'), 2 ** 31);
    const repeated = setInterval(() => ran.push('repeated'));
    await testbed.advance(2);
    clearInterval(repeated);
    await testbed.advance(10);
    expect(ran).toEqual(['too long', 'repeated', 'repeated', 'first', 'second']);
  });

  test('an operation of Web Crypto that fails is done', async () => {
    open();
    await expect(crypto.subtle.digest('none', new Uint8Array())).rejects.toMatchObject({ name: 'NotSupportedError' });
    await testbed.advance(1);
  });

  test('`AbortSignal.timeout` waits for virtual time: a request of the page that is given up after five seconds', async () => {
    const real = AbortSignal.timeout;
    open();
    testbed.hang();
    const outcome = vi.fn();
    void testbed.fetch(`${testbed.baseUrl}/`, { signal: AbortSignal.timeout(5_000) }).catch(outcome);
    // The longest delay is that of a timer, and no shorter one.
    const late = AbortSignal.timeout(Number.MAX_SAFE_INTEGER);
    await testbed.advance('4999 ms');
    expect(outcome).not.toHaveBeenCalled();
    await testbed.advance('1 ms');
    expect(outcome).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ name: 'TimeoutError' }));
    expect(late.aborted).toBe(false);
    await testbed.close();
    expect(AbortSignal.timeout).toBe(real);
  });

  test('`util.promisify(setTimeout)` waits for virtual time, and can be aborted', async () => {
    open();
    const pause = promisify(setTimeout);
    const ended: unknown[] = [];
    void pause(1_000, 'value').then((value) => ended.push(value));
    const stop = new AbortController();
    const aborted = pause(2_000, undefined, { signal: stop.signal });
    await testbed.advance(999);
    expect(ended).toEqual([]);
    await testbed.advance(1);
    expect(ended).toEqual(['value']);
    stop.abort();
    await expect(aborted).rejects.toMatchObject({ name: 'AbortError' });
    await expect(pause(1, undefined, { signal: stop.signal })).rejects.toMatchObject({ name: 'AbortError' });
  });

  test('`refresh()` of a timer starts its delay anew, `close()` clears it for good', async () => {
    open();
    const ran: string[] = [];
    const timer = setTimeout(() => ran.push('refreshed'), 100);
    const closed = setTimeout(() => ran.push('closed'), 100);
    await testbed.advance(60);
    expect(timer.refresh()).toBe(timer);
    closed.close();
    closed.refresh();
    await testbed.advance(60);
    expect(ran).toEqual([]);
    await testbed.advance(40);
    expect(ran).toEqual(['refreshed']);
    timer.refresh();
    setTimeout(() => ran.push('later'), 100);
    timer.refresh();
    await testbed.advance(100);
    // Behind a timer of the same instant that was started before.
    expect(ran).toEqual(['refreshed', 'later', 'refreshed']);
  });

  test('the number of a timer never equals that of a real timer', () => {
    open();
    expect(Number(setTimeout(() => {}, 1))).toBeGreaterThan(2 ** 31);
  });

  test('a timer without a delay runs without `advance`, and time stands still', async () => {
    open();
    const before = testbed.now();
    await new Promise((resolve) => setTimeout(resolve));
    expect(testbed.now()).toBe(before);
  });

  test('overlapping calls of `advance` follow one another', async () => {
    open();
    const before = testbed.now();
    await Promise.all([testbed.advance('1 min'), testbed.advance('2 min')]);
    expect(testbed.now() - before).toBe(180_000);
  });

  test('`advance` rejects with the error of a timer, and works afterwards', async () => {
    open();
    setTimeout(() => {
      throw new RangeError('in a timer');
    }, 10);
    await expect(testbed.advance(20)).rejects.toThrow('in a timer');
    await testbed.advance('1 min');
  });

  test.each(['20', '20 fortnights', '-1 min', -1, Number.NaN, null] as never[])('rejects the span %j', (span) => {
    open();
    expect(() => testbed.advance(span)).toThrow(/^span: expected a number from 0, or text such as '20 min', .* got /);
  });
});

describe('lifetimes', () => {
  test('are text, or seconds as in the options of an operator', async () => {
    open({ lifetimes: { refreshFrom: '1 h', identityExpires: 4 * 3600, refreshExpires: '30 d' } });
    const { session } = await loaded();
    const { refreshAt, expiresAt, endsAt } = session.state;
    const now = testbed.now();
    expect([refreshAt, expiresAt, endsAt].map((at) => (at! - now) / HOUR)).toEqual([1, 4, 720]);
  });

  test('with a misspelt name are rejected', () => {
    open();
    expect(() => createTestbed({ lifetimes: { refresh_from: 1 } as never })).toThrow(
      'lifetimes.refresh_from: expected one of refreshFrom, identityExpires, refreshExpires, got an unknown name',
    );
    expect(() => createTestbed({ lifetime: {} } as never)).toThrow('lifetime: expected one of lifetimes, start');
  });
});

test('wrong arguments are refused, naming what was expected', () => {
  open();
  expect(() => testbed.answer(99)).toThrow('status: expected a whole number from 200 to 599, got 99');
  expect(() => testbed.skewClock('1 h' as never)).toThrow('ms: expected a finite number, got string');
  expect(() => createTestbed({ start: new Date('never') })).toThrow('start: expected a date or epoch ms, got object');
});

test.each<[options: unknown, message: string]>([
  [null, 'options: expected object, got null'],
  [{ user: 'user@example.com' }, 'user: expected object, got string'],
  [{ user: {} }, 'user: expected exactly one of email, emailHash, phone, phoneHash, got none of them'],
  [
    { user: { email: 'user@example.com', phone: '+12345678901' } },
    'user: expected exactly one of email, emailHash, phone, phoneHash, got email and phone',
  ],
  [{ user: { email: 5 } }, 'user.email: expected string, got number'],
  [{ user: '' }, 'user: expected object or null, got empty string'],
  [{ start: null }, 'start: expected a date or epoch ms, got null'],
  [{ start: '2031-01-01' }, 'start: expected a date or epoch ms, got string'],
  [{ lifetimes: null }, 'lifetimes: expected object, got null'],
  [{ operator: 'EUID' }, 'operator: expected object, got string'],
  [{ installClock: 'no' }, 'installClock: expected boolean, got string'],
])('wrong options are refused before anything is created: %j', (options, message) => {
  expect(() => createTestbed(options as never)).toThrow(new TypeError(message));
  open();
});

test('a wrong user of `signIn`, and wrong options of a session, are refused where they are passed', () => {
  open();
  expect(() => testbed.signIn('user@example.com' as never)).toThrow('signIn: expected object, got string');
  expect(() => testbed.signIn({ emial: 'user@example.com' } as never)).toThrow('signIn.emial: expected one of email');
  expect(() => testbed.session(null as never)).toThrow('session: options: expected object, got null');
});

describe('faults', () => {
  test('`offline()`: one error, the token stays until it expires; `online()`: a token again', async () => {
    open();
    const { session, events } = await loaded();
    testbed.offline();
    await testbed.advance('2 h');
    expect(session.advertisingToken).toBeUndefined();
    expect(names(events)).toEqual(['error network', 'expired advertising']);
    testbed.online();
    // The longest pause.
    await testbed.advance('5 min');
    expect(session.advertisingToken).toBeDefined();
  });

  test('`offline()` does not affect the publisher’s server', async () => {
    open();
    testbed.offline();
    expect((await testbed.handler(new Request('https://publisher.example/token', { method: 'POST' }))).status).toBe(
      200,
    );
    await expect(testbed.fetch('/token', { method: 'POST' })).rejects.toThrow('Failed to fetch');
  });

  test('`answer(503)` with `Retry-After`: the session waits as long as the header says', async () => {
    open();
    const { session, events } = await loaded();
    testbed.answer(503, { 'retry-after': '1800' });
    await testbed.advance('16 min');
    expect(names(events)).toEqual(['error http_status 503']);
    expect(session.state.next).toMatchObject({ action: 'refresh', reason: 'retry_after' });
    testbed.online();
    await testbed.advance('31 min');
    expect(names(events)).toEqual(['error http_status 503', 'token refresh']);
  });

  test('`answer(503)` reaches the publisher’s server too', async () => {
    open();
    testbed.answer(503);
    expect((await testbed.fetch('/token', { method: 'POST' })).status).toBe(503);
    await expect(testbed.client.generate({ email: 'user@example.com' })).rejects.toMatchObject({ status: 503 });
    // What prepares a test is not affected.
    await testbed.optOut({ email: 'user@example.com' });
    expect(await testbed.tokensFor()).toEqual({ status: 'optout' });
  });

  test('an answer has the status, headers and body of the fault, and the time of the service as `Date`', async () => {
    open();
    testbed.skewClock(HOUR);
    const answerOf = async (status: number, headers?: Record<string, string>, body?: string) => {
      testbed.answer(status, headers, body);
      const response = await testbed.fetch(testbed.baseUrl);
      return [response.status, response.headers.get('date'), await response.text()];
    };
    const serviceDate = new Date(testbed.now() - HOUR).toUTCString();
    expect(await answerOf(599, { 'x-test': '1' }, 'busy')).toEqual([599, serviceDate, 'busy']);
    expect(await answerOf(204)).toEqual([204, serviceDate, '']);
    const date = new Date(0).toUTCString();
    expect(await answerOf(503, { date })).toEqual([503, date, '']);
    testbed.online();
    expect((await testbed.fetch(`${testbed.baseUrl}/ops/healthcheck`)).headers.get('date')).toBe(serviceDate);
  });

  test('in a page, `offline()` and the `online()` after it are events; the end of another fault is none', () => {
    open();
    const events: string[] = [];
    vi.stubGlobal('dispatchEvent', ({ type }: Event) => events.push(type));
    onTestFinished(() => void vi.unstubAllGlobals());
    testbed.offline();
    testbed.online();
    testbed.online();
    testbed.answer(503);
    testbed.online();
    expect(events).toEqual(['offline', 'online']);
  });

  test('a request can be given up by the signal of a `Request` and of its options, before it starts too', async () => {
    open();
    testbed.hang();
    const url = `${testbed.baseUrl}/`;
    const stop = new AbortController();
    const { signal } = stop;
    const given = [testbed.fetch(new Request(url, { signal })), testbed.fetch(url, { signal })];
    stop.abort(new Error('given up'));
    for (const request of [...given, testbed.fetch(url, { signal })]) await expect(request).rejects.toThrow('given up');
  });

  test('`hang()`: a refresh times out after its own limit, by this clock', async () => {
    open();
    const { events } = await loaded();
    testbed.hang();
    await testbed.advance('15 min');
    await testbed.advance('59 s');
    expect(names(events)).toEqual([]);
    await testbed.advance('2 s');
    expect(names(events)).toEqual(['error timeout']);
  });

  test('`skewClock()`: the session learns by how much the device is wrong, and keeps its token alive', async () => {
    open();
    const { session, events } = await loaded();
    testbed.skewClock(3 * HOUR);
    await testbed.advance('1 h');
    expect(Math.round(session.state.clockOffsetMs! / HOUR)).toBe(-3);
    expect(session.advertisingToken).toBeDefined();
    testbed.skewClock(-2 * HOUR);
    await testbed.advance('24 h');
    expect(session.advertisingToken).toBeDefined();
    expect(events.filter(([event]) => event === 'error')).toEqual([]);
  });
});

describe('users', () => {
  test('`optOut()`: the next refresh returns the opt-out', async () => {
    open({ user: { email: 'somebody@example.com' } });
    const { session, events } = await loaded();
    await testbed.optOut({ email: 'somebody@example.com' });
    await testbed.advance('20 min');
    expect(names(events)).toEqual(['optout']);
    expect(session.state.phase).toBe('optedOut');
  });

  test('the reserved users behave as with every operator', async () => {
    open();
    const { optOut, refreshOptOut, validate } = testbed.users;
    expect(await testbed.tokensFor(optOut)).toEqual({ status: 'optout' });
    const session = testbed.session({ provide: undefined });
    await session.setTokens(await testbed.tokensFor(refreshOptOut));
    await testbed.advance('20 min');
    expect(session.state.phase).toBe('optedOut');
    const set = await testbed.tokensFor(validate);
    expect(set).toMatchObject({ status: 'success' });
    const { body } = set as { body: { advertising_token: string } };
    expect(await testbed.client.validate(body.advertising_token, validate)).toBe(true);
  });

  test('`tokensFor()` is for who is signed in, else for somebody', async () => {
    open({ user: { email: 'optout@example.com' } });
    expect(await testbed.tokensFor()).toEqual({ status: 'optout' });
    testbed.signOut();
    expect(await testbed.tokensFor()).toMatchObject({ status: 'success' });
  });

  test('nobody is signed in: `handler` answers 204, and the session asks for a set', async () => {
    open({ user: null });
    const session = testbed.session();
    const events = recordEvents(session);
    await testbed.advance();
    expect(names(events)).toEqual(['needsTokens empty']);
    testbed.signIn({ email: 'somebody@example.com' });
    await session.refresh();
    expect(session.advertisingToken).toBeDefined();
    testbed.signOut();
    expect((await testbed.fetch('/token', { method: 'POST' })).status).toBe(204);
  });
});

describe('sessions', () => {
  test('of one name are tabs, and one page after another', async () => {
    open();
    const { session, token } = await loaded();
    const other = testbed.session();
    await other.ready;
    expect(other.advertisingToken).toBe(token);
    await session.clear();
    await testbed.advance();
    expect(other.state.phase).toBe('empty');
    await session.setTokens(await testbed.tokensFor());
    for (const options of [{ name: 'other' }, { store: memoryStore() }]) {
      const stranger = testbed.session({ ...options, provide: undefined });
      await stranger.ready;
      expect(stranger.state.phase).toBe('empty');
    }
  });

  test.each(['https://elsewhere.example/a', 'https://elsewhere.example/token', 'https://publisher.example/a'])(
    'a request to another place is answered 404, naming the place: %s',
    async (url) => {
      open();
      const response = await testbed.fetch(url, { method: 'POST' });
      expect([response.status, await response.text()]).toEqual([404, `testbed: nothing is served at ${url}`]);
    },
  );
});

describe('close()', () => {
  test('restores timers, clocks and Web Crypto, and closes the sessions', async () => {
    const before = [setTimeout, clearTimeout, setInterval, clearInterval, Date, performance.now, crypto.subtle.decrypt];
    open();
    expect(setTimeout).not.toBe(before[0]);
    const session = testbed.session();
    await session.getToken();
    await testbed.close();
    expect([
      setTimeout,
      clearTimeout,
      setInterval,
      clearInterval,
      Date,
      performance.now,
      crypto.subtle.decrypt,
    ]).toEqual(before);
    expect(Object.hasOwn(performance, 'now')).toBe(false);
    await expect(session.getToken()).rejects.toMatchObject({ code: 'closed' });
  });

  test('lets a timer from before the testbed be cleared, and another testbed be created', async () => {
    let ran = false;
    const timer = setTimeout(() => {
      ran = true;
    }, 1);
    open();
    clearTimeout(timer);
    await testbed.close();
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(ran).toBe(false);
    open();
  });

  test('session() and advance() fail after it, instead of a session that no test closes', async () => {
    open();
    await testbed.close();
    const gone = 'the testbed was closed: await every call before close(), and create a testbed for each test';
    expect(() => testbed.session()).toThrow(new Error(`testbed.session: ${gone}`));
    expect(() => testbed.advance('1 s')).toThrow(new Error(`testbed.advance: ${gone}`));
  });

  test('a second testbed is refused while one is open, before anything is created', () => {
    open();
    let isCreated = false;
    const operator = {
      get siteId() {
        isCreated = true;
        return 777;
      },
    };
    expect(() => createTestbed({ operator })).toThrow(
      'expected no other open testbed in this process; call close() of that one',
    );
    expect(isCreated).toBe(false);
  });

  test('ends a call of advance that nobody awaits, and every timer', async () => {
    open();
    const ran: string[] = [];
    setInterval(() => ran.push('interval'), 1_000);
    setTimeout(() => ran.push('timer'), 1_000);
    setTimeout(() => ran.push('no delay'));
    const virtual = setTimeout;
    const moving = testbed.advance('1 h');
    await testbed.close();
    virtual(() => ran.push('late'));
    await moving;
    expect(ran).toEqual([]);
  });

  test.each([['setTimeout'], ['Date']] as const)('cannot be opened while %s is mocked', (mocked) => {
    vi.useFakeTimers({ toFake: [mocked] });
    expect(() => createTestbed()).toThrow('createTestbed: expected real timers, got mocked ones');
    vi.useRealTimers();
    vi.setSystemTime(0);
    expect(() => createTestbed()).toThrow('createTestbed: expected real timers, got mocked ones');
    vi.useRealTimers();
  });

  test('a second call changes nothing, even if another testbed is open', async () => {
    const old = open();
    const closed = old.close();
    open();
    const installed = [setTimeout, Date];
    expect(old.close()).toBe(closed);
    await closed;
    expect([setTimeout, Date]).toEqual(installed);
    expect(Date.now()).toBe(testbed.now());
  });
});

test('with `installClock: false` timers are real, and `advance` moves the operator', async () => {
  const { setTimeout: before } = globalThis;
  open({ installClock: false });
  expect(setTimeout).toBe(before);
  const set = (await testbed.tokensFor()) as { body: { refresh_from: number } };
  expect(set.body.refresh_from).toBe(testbed.now() + 900_000);
  await testbed.advance('20 min');
  const later = (await testbed.tokensFor()) as { body: { refresh_from: number } };
  expect(later.body.refresh_from - set.body.refresh_from).toBe(1_200_000);
  // Sessions in this process read the same clock.
  const session = testbed.session();
  await session.getToken();
  expect(session.advertisingToken).toBeDefined();
  await testbed.advance('2 h');
  expect(session.advertisingToken).toBeUndefined();
});

test('works with a `Uint8Array` of another realm, which the jsdom environment of Vitest puts in its place', async () => {
  vi.stubGlobal('Uint8Array', runInNewContext('Uint8Array'));
  onTestFinished(() => void vi.unstubAllGlobals());
  vi.resetModules();
  testbed = (await import('../../src/testing/index.ts')).createTestbed();
  const { session, token } = await loaded();
  await testbed.advance('20 min');
  expect(session.advertisingToken).toBeDefined();
  expect(session.advertisingToken).not.toBe(token);
});
