/** The inspector: what it records of a session, the figure, the messages of other tabs, the element and the report. */

import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { connectLanes, isLane } from '../../src/page/inspector/channel.ts';
import type { Entry, Lane } from '../../src/page/inspector/entries.ts';
import { layOut, type Shape } from '../../src/page/inspector/figure.ts';
import { createParts } from '../../src/page/inspector/parts.ts';
import { createRecording } from '../../src/page/inspector/record.ts';
import { type InspectorElement, inspect } from '../../src/page/inspector.ts';
import type { Session, SessionState } from '../../src/session/index.ts';
import { TokenError } from '../../src/token/errors.ts';
import { restoreGlobals } from '../session/fixtures.ts';
import { HOUR, MINUTE, START, useFakeClock } from '../support/clock.ts';
import { createOperatorFixture } from '../support/fixtures.ts';

const SET = { refreshAt: 10_000, expiresAt: 30_000, endsAt: 120_000 };
const NEWER = { refreshAt: 20_000, expiresAt: 40_000, endsAt: 130_000 };
const BASE: SessionState = { phase: 'fresh', persistence: 'memory', generation: 1, ...SET };
const EMPTY: SessionState = { phase: 'empty', persistence: 'memory', generation: 1 };
const lastError = new TokenError('http_status', undefined, { status: 503 });
const refreshing = (at: number, more: Partial<SessionState> = {}): SessionState => ({
  ...BASE,
  phase: 'due',
  ...more,
  next: { action: 'refresh', reason: 'in_progress', at },
});
const waiting = (reason: 'back_off' | 'refresh_from' | 'other_tab' | 'storage', more: Partial<SessionState> = {}) => ({
  ...BASE,
  ...more,
  next: { action: 'refresh', reason, at: 99_000 } as const,
});

/** The entries of one kind of a session that had these states. */
const recorded = (kind: Entry['kind'], ...states: [at: number, SessionState][]) => {
  let look = () => {};
  let now = states[0]![0];
  const session = {
    state: states[0]![1],
    on: () => () => {},
    subscribe: (listener: () => void) => {
      look = listener;
      return () => {};
    },
  };
  const { entries, start } = createRecording(session as unknown as Session, () => now, look);
  start();
  for (const [at, state] of states.slice(1)) {
    now = at;
    session.state = state;
    look();
  }
  return entries.filter((entry) => entry.kind === kind);
};

describe('the recording', () => {
  const outcomes: [name: string, end: SessionState, result: string, text: string, label?: string][] = [
    ['a newer set', waiting('refresh_from', NEWER), 'answered', 'a new token', '80 ms'],
    ['a failure', waiting('back_off', { lastError }), 'failed', 'failed, http_status 503', '503'],
    ['another tab', waiting('other_tab'), 'none', 'left to another tab'],
    ['an opt-out', { ...EMPTY, phase: 'optedOut' }, 'answered', 'the user has opted out', '80 ms'],
    ['the end of the refresh token', { ...BASE, phase: 'ended' }, 'answered', 'the refresh token has ended', '80 ms'],
    ['a logout', EMPTY, 'none', 'signed out meanwhile'],
    ['nothing', waiting('back_off'), 'none', 'nothing new'],
  ];
  test.each(outcomes)('an attempt that ends with %s', (_, end, result, words, label) => {
    const entries = recorded('attempt', [9_000, BASE], [10_000, refreshing(10_000)], [10_080, end]);
    const text = `Attempt (refresh): ${words}, after 80 ms`;
    expect(entries).toEqual([{ kind: 'attempt', at: 10_000, until: 10_080, result, text, label }]);
  });

  test('a provide that finds nobody, after an older failure', () => {
    const asking: SessionState = { ...EMPTY, lastError, next: { action: 'provide', reason: 'in_progress', at: 5 } };
    const over: SessionState = { ...EMPTY, lastError, next: { action: 'signIn', reason: 'host' } };
    const [attempt] = recorded('attempt', [1, { ...EMPTY, lastError }], [5, asking], [9, over]);
    expect(attempt).toMatchObject({ at: 5, until: 9, text: 'Attempt (provide): nobody is signed in, after 4 ms' });
  });

  test('an attempt continues while it writes to the store; the next one begins when it ends', () => {
    const provide: SessionState = { ...BASE, ...NEWER, next: { action: 'provide', reason: 'in_progress', at: 54 } };
    const states = [BASE, refreshing(50), waiting('storage'), refreshing(50), provide];
    const entries = recorded('attempt', ...states.map((one, index): [number, SessionState] => [50 + index, one]));
    expect(entries).toMatchObject([
      { at: 50, until: 54, text: 'Attempt (refresh): a new token, after 4 ms' },
      { at: 54, text: 'Attempt (provide): in progress' },
    ]);
    expect(entries[1]).not.toHaveProperty('until');
  });

  test('a token: local instants by the clock offset, its replacement, an early end of the refresh token', () => {
    const early = { ...waiting('refresh_from'), clockOffsetMs: 3_000 };
    const ended = { ...waiting('refresh_from', NEWER), phase: 'ended' } as const;
    const entries = recorded('token', [1_000, early], [11_000, waiting('refresh_from', NEWER)], [12_000, ended]);
    expect(entries).toMatchObject([
      { at: 1_000, until: 11_000, refreshAt: 7_000, expiresAt: 27_000, endsAt: 117_000 },
      {
        at: 11_000,
        ...NEWER,
        endsAt: 12_000,
        text: expect.stringMatching(/^Token, held before the recording began: /),
      },
    ]);
    expect(entries[1]).not.toHaveProperty('until');
  });

  test('a wait is one entry until any part of it changes; a short one for the store is dropped', () => {
    const entries = recorded(
      'wait',
      [1, waiting('storage')],
      [50, waiting('refresh_from')],
      [60, waiting('refresh_from', { persistence: 'indexeddb' })],
      [70, waiting('back_off')],
    );
    expect(entries).toMatchObject([
      { at: 50, until: 70, plannedAt: 99_000, label: undefined },
      { at: 70, plannedAt: 99_000, label: 'pause after a failure' },
    ]);
    expect(entries[1]!.text).toMatch(/^Next: refresh at \d\d:\d\d:39 \(pause after a failure\)$/);
  });

  test('the store and the clock offset are noted when they change', () => {
    const entries = recorded(
      'note',
      [1, { ...BASE, persistence: 'indexeddb' }],
      [3, { ...BASE, clockOffsetMs: -3_600_000 }],
      [4, { ...BASE, clockOffsetMs: -3_600_400 }],
    );
    expect(entries.map(({ at, text }) => `${at} ${text}`)).toEqual([
      '1 Storage: indexeddb',
      '3 Storage: memory',
      '3 Clock offset: -3600000 ms',
    ]);
  });

  test('the newest 400 entries are kept', () => {
    const states = Array.from({ length: 500 }, (_, at): [number, SessionState] => [
      at,
      { ...BASE, persistence: `${at}` },
    ]);
    const entries = recorded('note', ...states);
    expect(entries).toHaveLength(400);
    expect(entries.at(-1)!.at).toBe(499);
  });
});

const lane = (entries: Partial<Entry>[], more: Partial<Lane> = {}): Lane => ({
  tab: 'ab12',
  label: '',
  status: 'phase fresh, stored in indexeddb',
  entries: entries.map((entry) => ({ kind: 'note', at: 0, text: '', ...entry })),
  ...more,
});
const token = (at: number, more: Partial<Entry> = {}): Partial<Entry> => ({
  kind: 'token',
  at,
  refreshAt: at + 10_000,
  expiresAt: at + 30_000,
  endsAt: at + 60_000,
  ...more,
});
/** 100 px are 10 s; now, 100 s, is at 700 px. */
const shapesOf = (lanes: readonly Lane[], width = 1_000) => layOut(lanes, 100_000, 100_000, width).shapes;
const named = (shapes: readonly Shape[], ...names: string[]) =>
  shapes
    .filter(({ name }) => names.includes(name))
    .map(({ tag, name, attributes, ...more }) => ({ ...attributes, ...more }) as Record<string, number | string>);

describe('the figure', () => {
  test('a token: in force, due, and its refresh token to the end; a replaced one ends early', () => {
    const shapes = shapesOf([lane([token(60_000, { until: 72_000 }), token(72_000)])]);
    expect(named(shapes, 'fresh')).toMatchObject([
      { x: 300, width: 100 },
      { x: 420, width: 100 },
    ]);
    expect(named(shapes, 'due')).toMatchObject([
      { x: 400, width: 20 },
      { x: 520, width: 200 },
    ]);
    expect(named(shapes, 'refreshable')).toMatchObject([{ x1: 720, x2: 1_008 }]);
  });

  test('each tab has a lane, and each token says where it came from, if that fits', () => {
    const mine = lane([
      token(70_000, { label: 'from another tab', refreshAt: 90_000 }),
      token(90_000, { label: 'set by the page' }),
    ]);
    const other = lane([token(70_000, { label: 'refreshed here', refreshAt: 90_000 })], { label: 'Tab 2' });
    const shapes = shapesOf([mine, other]);
    expect(named(shapes, 'head').map(({ text }) => text)).toEqual([
      'This tab: phase fresh, stored in indexeddb',
      'Tab 2: phase fresh, stored in indexeddb',
    ]);
    expect(named(shapes, 'on-bar').map(({ text }) => text)).toEqual(['from another tab', 'refreshed here']);
    expect(named(shapesOf([mine], 200), 'head').map(({ text }) => text)).toEqual(['This tab']);
  });

  test('an attempt has its result at its end and its latency as its length', () => {
    const attempt = (at: number, until: number, more: Partial<Entry>) =>
      ({ kind: 'attempt', at, until, ...more }) as const;
    const shapes = shapesOf([
      lane([
        attempt(60_000, 62_000, { result: 'answered', label: '2000 ms' }),
        attempt(75_000, 75_010, { result: 'failed', label: '503' }),
        attempt(90_000, 90_010, { result: 'none' }),
      ]),
    ]);
    for (const name of ['answered', 'failed', 'none']) expect(named(shapes, name)).toHaveLength(1);
    expect(named(shapes, 'latency')).toMatchObject([{ x: 300, width: 20 }]);
    expect(named(shapes, 'label', 'label bad').map(({ text }) => text)).toEqual(['503', '2000 ms']);
  });

  test('a wait is a line to its planned end, with its reason if that fits; a normal wait is only its planned end', () => {
    const wait = { kind: 'wait', at: 90_000, plannedAt: 110_000 } as const;
    const shapes = shapesOf([lane([{ ...wait, label: 'back_off' }])]);
    expect(named(shapes, 'wait')).toMatchObject([{ x: 600, width: 200 }]);
    expect(named(shapes, 'planned')).toHaveLength(1);
    expect(named(shapes, 'label')).toMatchObject([{ text: 'back_off' }]);
    const normal = shapesOf([lane([wait])]);
    expect(named(normal, 'wait')).toHaveLength(0);
    expect(named(normal, 'planned')).toHaveLength(1);
  });

  test('the legend explains every symbol of a lane', () => {
    const attempt = { kind: 'attempt', at: 60_000, until: 60_010 } as const;
    const entries = [
      token(60_000),
      ...(['answered', 'failed', 'none'] as const).map((result) => ({ ...attempt, result })),
      { kind: 'wait', at: 90_000, plannedAt: 110_000, label: 'back_off' } as const,
      { kind: 'event', at: 60_000 } as const,
    ];
    const isSymbol = ({ tag, name }: Shape) => tag === 'path' || ['fresh', 'due', 'refreshable', 'wait'].includes(name);
    const names = new Set(
      shapesOf([lane(entries)])
        .filter(isSymbol)
        .map(({ name }) => name),
    );
    const explained = createParts(false).flatMap((part) =>
      [...part.querySelectorAll('li [class]')].map((one) => one.getAttribute('class')),
    );
    expect([...names].filter((name) => !explained.includes(name))).toEqual([]);
    expect(names.size).toBe(9);
  });

  test('labels never overlap and never leave the figure, at any width', () => {
    const entries = Array.from({ length: 60 }, (_, index) => ({
      kind: 'event' as const,
      at: 31_000 + index * 1_150,
      label: 'Sign-in',
    }));
    for (const width of [280, 390, 1_000]) {
      const centres = named(shapesOf([lane(entries)], width), 'label strong').map(({ x }) => Number(x));
      expect(centres.length).toBeGreaterThan(0);
      const half = 7 * 3;
      let free = 0;
      for (const centre of centres.sort((one, other) => one - other)) {
        expect(centre - half).toBeGreaterThanOrEqual(free);
        free = centre + half;
        expect(free).toBeLessThanOrEqual(width);
      }
    }
  });

  test('without any entry: an axis and the instant now', () => {
    const shapes = shapesOf([]);
    expect(named(shapes, 'now')).toMatchObject([{ x1: 700 }]);
    expect(named(shapes, 'time').length).toBeGreaterThan(3);
  });
});

describe('messages of other tabs', () => {
  const good = lane([token(1), { kind: 'event', at: 2, text: 'Opt-out', label: 'Opt-out' }]);

  test.each([
    ['a lane', structuredClone(good), true],
    ['no object', 7, false],
    ['null', null, false],
    ['a label that is no string', { ...good, label: {} }, false],
    ['too many entries', { ...good, entries: Array(151).fill(good.entries[0]) }, false],
    ['an entry without words', { ...good, entries: [{ ...good.entries[0], text: undefined }] }, false],
    ['an instant that is not finite', { ...good, entries: [{ ...good.entries[0], at: Number.NaN }] }, false],
    ['an instant that no date can write', { ...good, entries: [{ ...good.entries[0], at: 1e300 }] }, false],
  ])('%s: accepted or not', (_, message, isAccepted) => expect(isLane(message)).toBe(isAccepted));

  test('inspectors find each other; a cached page is gone, and is there again when it is shown', async () => {
    const closed = vi.spyOn(BroadcastChannel.prototype, 'close');
    onTestFinished(() => closed.mockRestore());
    const seen: Record<'cached' | 'other', readonly Lane[]> = { cached: [], other: [] };
    const connect = (name: 'cached' | 'other', tab: string) =>
      connectLanes(
        't2',
        () => ({ ...good, tab }),
        (lanes) => void (seen[name] = lanes),
      );
    const cached = connect('cached', 'one');
    const other = connect('other', 'two');
    const tabs = () => [seen.cached, seen.other].map((lanes) => lanes.map(({ tab }) => tab));
    await expect.poll(tabs, { timeout: 20_000 }).toEqual([['two'], ['one']]);
    // Both listen to the events of this one window. An open channel would make Chromium evict the page from its cache.
    window.dispatchEvent(new Event('pagehide'));
    expect(closed).toHaveBeenCalledTimes(2);
    expect(tabs()).toEqual([[], []]);
    window.dispatchEvent(Object.assign(new Event('pageshow'), { persisted: true }));
    await expect.poll(tabs, { timeout: 20_000 }).toEqual([['two'], ['one']]);
    cached.close();
    await expect.poll(() => seen.other, { timeout: 20_000 }).toEqual([]);
    other.close();
  });
});

describe('over a real session', () => {
  let fixture: ReturnType<typeof createOperatorFixture>;
  beforeEach(() => {
    useFakeClock();
    fixture = createOperatorFixture();
  });
  afterEach(async () => {
    fixture.close();
    document.body.innerHTML = '';
    await restoreGlobals();
  });
  const createElement = () => document.createElement('tessera-inspector') as InspectorElement;

  test('a life: sign-in, refreshes, an outage with its retries, the end of it, sign-out, opt-out', async () => {
    const answer = await fixture.answerFor('user@example.com');
    const { session } = fixture.open();
    const { report, stop } = inspect(session);
    await session.setTokens(answer);
    await fixture.advance(16 * MINUTE);
    fixture.network(async () => new Response(null, { status: 503 }));
    await fixture.advance(16 * MINUTE);
    fixture.network();
    await fixture.advance(5 * MINUTE);
    await session.setTokens(await fixture.answerFor('refresh-optout@example.com'));
    await session.clear();
    await fixture.settle();
    await session.setTokens(await fixture.answerFor('refresh-optout@example.com'));
    await session.refresh().catch(() => {});
    await fixture.settle();
    expect(report()).toMatch(
      /^There is no token: the user has opted out\. Next, the session will wait until your page calls setTokens\.\nTessera support log/,
    );
    const lines = report()
      .split('\n')
      .map((text) => text.slice(28));
    const of = (pattern: RegExp) =>
      lines.filter((text) => pattern.test(text)).map((text) => text.replace(/: refresh from.*/, ''));
    expect(of(/^Token/)).toEqual([
      'Token, set by the page',
      'Token, refreshed here',
      'Token, refreshed here',
      'Token, set by the page',
      'Token, set by the page',
    ]);
    const attempts = of(/^Attempt/).map((text) => text.replace(/, after.*/, ''));
    expect(attempts[0]).toBe('Attempt (refresh): a new token');
    expect(attempts.at(-1)).toBe('Attempt (refresh): the user has opted out');
    expect(new Set(attempts.slice(1, -2))).toEqual(new Set(['Attempt (refresh): failed, http_status 503']));
    expect(of(/pause after a failure/)).not.toEqual([]);
    expect(of(/^(A new|Sign|New|Opt|Expired)/)).toEqual([
      'Sign-in: set',
      'New set: set',
      'Sign-out',
      'Sign-in: set',
      'Opt-out',
    ]);
    stop();
    const before = report().split('\n').length;
    await session.clear({ forget: true });
    await fixture.settle();
    expect(report().split('\n')).toHaveLength(before);
  });

  test('figure, list and report contain no token, key, DII or error message', async () => {
    const answer = await fixture.answerFor('refresh-optout@example.com');
    const { session } = fixture.open({
      tokens: answer,
      provide: async () => {
        throw new Error(JSON.stringify(answer));
      },
    });
    const printed = vi.spyOn(console, 'log').mockImplementation(() => {});
    const element = createElement();
    document.body.append(element);
    element.session = session;
    const { print } = inspect(session);
    await session.ready;
    await session.clear();
    await session.refresh().catch(() => {});
    await session.setTokens(answer).catch(() => {});
    // The service answers that the user has opted out.
    await session.refresh().catch(() => {});
    print();
    const root = element.shadowRoot!;
    root.querySelector('details')!.open = true;
    root.querySelector('details')!.dispatchEvent(new Event('toggle'));
    expect(root.querySelector('ol')!.textContent).toContain('Sign-in: set');
    expect(root.querySelector('strong')!.textContent).toBe('opted out');
    const text = root.innerHTML + element.report + printed.mock.calls.join();
    expect(text).toContain('Error: provide_failed');
    for (const value of Object.values((answer as { body: Record<string, unknown> }).body))
      expect(text).not.toContain(String(value));
    expect(text).not.toContain('refresh-optout');
  });

  test('an element that is removed records nothing; inserted again, it continues', async () => {
    const { session } = fixture.open();
    const element = createElement();
    element.session = session;
    document.body.append(element);
    const answer = await fixture.answerFor('user@example.com');
    await session.setTokens(answer);
    expect(element.report).toContain('Sign-in');
    element.remove();
    await session.clear();
    await fixture.settle();
    expect(element.report).not.toContain('Sign-out');
    document.body.append(element);
    expect(element.report).toMatch(/Sign-in[\s\S]*Sign-out/);
    await session.setTokens(await fixture.answerFor('other@example.com'));
    expect(element.report.match(/Sign-in/g)).toHaveLength(2);
  });

  test('a session and a clock that were set before the element was defined are adopted', () => {
    const { session } = fixture.open();
    const Element = customElements.get('tessera-inspector')!;
    const before = Object.assign(document.createElement('tessera-later'), { session, now: () => START + HOUR });
    document.body.append(before);
    customElements.define('tessera-later', class extends Element {});
    const element = before as unknown as InspectorElement;
    expect(Object.keys(element)).toEqual(['now']);
    expect(element.session).toBe(session);
    expect(element.report).toContain(new Date(START + HOUR).toISOString());
    expect(element.shadowRoot!.querySelector('.now span')!.textContent).toContain('next: refresh (the stored record');
  });

  test('the heading says what is next, and that a session is closed', async () => {
    const { session } = fixture.open();
    const element = createElement();
    document.body.append(element);
    const said = () => element.shadowRoot!.querySelector('.now span')!.textContent;
    expect(said()).toBe('no session yet');
    element.session = session;
    await session.setTokens(await fixture.answerFor('user@example.com'));
    await fixture.advance(MINUTE);
    expect(said()).toBe('next: refresh in 14 min (the token is fresh until then)');
    session.close();
    await fixture.settle();
    expect(said()).toBe('closed');
  });

  test.each([
    [null, 120],
    ['60', 60],
    ['Infinity', 2_592_000],
    ['1e300', 2_592_000],
    ['-1', 120],
  ])('with the attribute span="%s" the figure shows %i s', (span, seconds) => {
    vi.spyOn(HTMLElement.prototype, 'clientWidth', 'get').mockReturnValue(1_000);
    const { session } = fixture.open();
    const element = createElement();
    if (span !== null) element.setAttribute('span', span);
    element.session = session;
    document.body.append(element);
    const ticks = [...element.shadowRoot!.querySelectorAll('.tick')].map((tick) => Number(tick.getAttribute('x1')));
    const steps = ticks.slice(1).map((x, index) => Math.round(x - ticks[index]!));
    expect(steps[0]).toBeCloseTo(({ 60: 10, 120: 15, 2592000: 604_800 }[seconds]! / seconds) * 1_000, 0);
  });
});

test('the script tag of the inspector queues its call even if an element of the page has the id `tessera`', async () => {
  // As in a browser: a named element is a property of an object in the prototype chain of `window`.
  const prototype = Object.getPrototypeOf(window) as object;
  const element = document.createElement('div');
  Object.defineProperty(prototype, 'tessera', { value: element, configurable: true, writable: true });
  onTestFinished(() => {
    Reflect.deleteProperty(prototype, 'tessera');
    Reflect.deleteProperty(window, 'tessera');
  });
  await import('../../src/page/inspector/script.ts');
  expect(window.tessera).toEqual([expect.any(Function)]);
});
