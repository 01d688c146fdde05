/** The timeline of the inspector: recorder, layout, view and messages as tables; the element over a real session and operator. */

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { connectLanes, parseLane, toText } from '../../src/page/inspector/channel.ts';
import type { Entry, Lane } from '../../src/page/inspector/entries.ts';
import { layOut } from '../../src/page/inspector/layout.ts';
import { createParts } from '../../src/page/inspector/parts.ts';
import { emptyLog, type Observation, observe, type Seen } from '../../src/page/inspector/recorder.ts';
import type { Shape } from '../../src/page/inspector/shapes.ts';
import { describeEntry, durationText, reportText } from '../../src/page/inspector/text.ts';
import { changeView, SPANS, viewOf } from '../../src/page/inspector/view.ts';
import { watchSession } from '../../src/page/inspector/watch.ts';
import type { InspectorElement } from '../../src/page/inspector.ts';
import '../../src/page/inspector.ts';
import { restoreGlobals } from '../session/fixtures.ts';
import { HOUR, MINUTE, START, useFakeClock } from '../support/clock.ts';
import { createOperatorFixture } from '../support/fixtures.ts';

const SET = { refreshAt: 10_000, expiresAt: 30_000, endsAt: 120_000 };
const NEWER = { refreshAt: 20_000, expiresAt: 40_000, endsAt: 130_000 };
const BASE: Seen = { phase: 'fresh', persistence: 'memory', ...SET };
const FAILURE = { code: 'http_status', status: 503 };
const refreshing = (at: number, more: Partial<Seen> = {}): Seen => ({
  ...BASE,
  phase: 'due',
  ...more,
  next: { action: 'refresh', reason: 'in_progress', at },
});
const waiting = (reason: 'back_off' | 'refresh_from' | 'other_tab' | 'host', more: Partial<Seen> = {}): Seen => ({
  ...BASE,
  ...more,
  next: { action: reason === 'host' ? 'signIn' : 'refresh', reason, at: 99_000 },
});
const state = (at: number, seen: Seen): Observation => ({ type: 'state', at, state: seen });
const event = (at: number, name: 'token' | 'optout' | 'expired' | 'needsTokens', detail = ''): Observation => ({
  type: 'event',
  at,
  event: name,
  detail,
});
/** What a list of observations leaves of one kind, without its number. */
const recorded = (kind: Entry['kind'], ...observations: Observation[]) =>
  observations
    .reduce(observe, emptyLog)
    .entries.filter((entry) => entry.kind === kind)
    .map(({ id, kind: _, ...fields }) => fields);

describe('the recorder', () => {
  const outcomes: [name: string, end: Seen, outcome: object][] = [
    ['a newer set', waiting('refresh_from', NEWER), { outcome: 'token' }],
    ['a failure', waiting('back_off', { failure: FAILURE }), { outcome: 'failed', failure: 'http_status 503' }],
    ['another tab', waiting('other_tab'), { outcome: 'other_tab' }],
    ['an opt-out', { phase: 'optedOut', persistence: 'memory' }, { outcome: 'opt_out' }],
    ['the end of the refresh token', waiting('host', { phase: 'ended' }), { outcome: 'ended' }],
    ['a logout', { phase: 'empty', persistence: 'memory' }, { outcome: 'signed_out' }],
    ['nothing', waiting('back_off'), { outcome: 'unchanged' }],
  ];
  test.each(outcomes)('an attempt that ends with %s', (_, end, outcome) => {
    const entries = recorded('attempt', state(9_000, BASE), state(10_000, refreshing(10_000)), state(10_080, end));
    expect(entries).toEqual([{ at: 10_000, until: 10_080, action: 'refresh', ...outcome }]);
  });

  test('a provide that finds nobody, after an older failure', () => {
    const empty = { phase: 'empty', persistence: 'memory', failure: FAILURE } as const;
    const asking: Seen = { ...empty, next: { action: 'provide', reason: 'in_progress', at: 5 } };
    const over: Seen = { ...empty, next: { action: 'signIn', reason: 'host' } };
    const [attempt] = recorded('attempt', state(1, empty), state(5, asking), state(9, over));
    expect(attempt).toMatchObject({ action: 'provide', outcome: 'nobody', at: 5, until: 9 });
  });

  test('an attempt continues while it writes to the store', () => {
    const storing: Seen = { ...BASE, next: { action: 'refresh', reason: 'storage' } };
    const seen = [BASE, refreshing(50), storing, refreshing(50), waiting('refresh_from', NEWER)];
    const entries = recorded('attempt', ...seen.map((one, index) => state(50 + index, one)));
    expect(entries).toMatchObject([{ at: 50, until: 54, outcome: 'token' }]);
  });

  test('two attempts in a row, and one that is not over', () => {
    const provide: Seen = { ...refreshing(70), next: { action: 'provide', reason: 'in_progress', at: 70 } };
    const entries = recorded(
      'attempt',
      state(1, BASE),
      state(50, refreshing(50)),
      state(70, { ...provide, phase: 'ended' }),
    );
    expect(entries).toMatchObject([
      { at: 50, until: 70, outcome: 'ended' },
      { at: 70, action: 'provide' },
    ]);
    expect(entries[1]).not.toHaveProperty('until');
  });

  test('generations: cause, replacement, and local instants by the clock offset', () => {
    const early = { ...waiting('refresh_from'), clockOffsetMs: 3_000 };
    const entries = recorded(
      'generation',
      state(1_000, early),
      event(1_000, 'token', 'set'),
      state(11_000, waiting('refresh_from', NEWER)),
      event(11_000, 'token', 'refresh'),
    );
    expect(entries).toEqual([
      {
        at: 1_000,
        until: 11_000,
        key: '10000/30000/120000',
        refreshAt: 7_000,
        expiresAt: 27_000,
        endsAt: 117_000,
        isFirst: true,
        cause: 'set',
      },
      { at: 11_000, key: '20000/40000/130000', ...NEWER, isFirst: false, cause: 'refresh' },
    ]);
  });

  test('an outage lasts from its first failing attempt to the next token; a refusal is none', () => {
    const down = waiting('back_off', { failure: FAILURE });
    const again = waiting('back_off', { failure: { code: 'network' } });
    const run = [
      state(1, BASE),
      state(10, refreshing(10)),
      state(12, down),
      state(30, refreshing(30, { failure: FAILURE })),
      state(33, again),
    ];
    expect(recorded('outage', ...run)).toEqual([{ at: 10, failure: 'http_status 503' }]);
    const over = [...run, state(60, refreshing(60)), state(61, waiting('refresh_from', NEWER))];
    expect(recorded('outage', ...over)).toEqual([{ at: 10, until: 61, failure: 'http_status 503' }]);
    const refused = waiting('back_off', { failure: { code: 'decrypt_failed', status: 200 } });
    expect(recorded('outage', state(1, BASE), state(10, refreshing(10)), state(12, refused))).toEqual([]);
  });

  test('waits: one entry until any part of it changes; a short one for the store is dropped', () => {
    const storing: Seen = { ...BASE, next: { action: 'refresh', reason: 'storage' } };
    const entries = recorded(
      'wait',
      state(1, storing),
      state(50, waiting('refresh_from')),
      state(60, waiting('refresh_from')),
      state(70, waiting('back_off')),
    );
    expect(entries).toEqual([
      { at: 50, until: 70, action: 'refresh', reason: 'refresh_from', plannedAt: 99_000 },
      { at: 70, action: 'refresh', reason: 'back_off', plannedAt: 99_000 },
    ]);
  });

  test('marks: sign-in, new set, opt-out, sign-out, needs, storage, clock', () => {
    const names = recorded(
      'mark',
      state(1, { phase: 'empty', persistence: 'indexeddb' }),
      event(1, 'needsTokens', 'empty'),
      state(2, waiting('refresh_from', { persistence: 'indexeddb' })),
      event(2, 'token', 'set'),
      state(3, waiting('refresh_from', { ...NEWER, persistence: 'memory', clockOffsetMs: -3_600_000 })),
      event(3, 'token', 'provide'),
      state(4, { phase: 'empty', persistence: 'memory', clockOffsetMs: -3_600_400 }),
      event(5, 'optout'),
    ).map((entry) => Object.values(entry).join(' '));
    expect(names).toEqual([
      '1 storage indexeddb',
      '1 needs_tokens empty',
      '2 sign_in set',
      '3 storage memory',
      '3 clock -3600000 ms',
      '3 new_set provide',
      '4 sign_out ',
      '5 opt_out ',
    ]);
  });

  test('keeps the newest 400 entries', () => {
    const many = Array.from({ length: 500 }, (_, index) => event(index, 'expired', 'advertising'));
    const { entries } = many.reduce(observe, emptyLog);
    expect(entries).toHaveLength(400);
    expect(entries.at(-1)?.at).toBe(499);
  });
});

const lane = (entries: object[], more: Partial<Lane> = {}): Lane => ({
  tab: 'ab12',
  label: '',
  phase: 'fresh',
  persistence: 'indexeddb',
  clockOffsetMs: 0,
  entries: entries.map((entry, id) => ({ id, ...entry })) as Entry[],
  ...more,
});
const generation = (at: number, more: object = {}) => ({
  kind: 'generation',
  at,
  key: `${at}`,
  refreshAt: at + 10_000,
  expiresAt: at + 30_000,
  endsAt: at + 60_000,
  isFirst: true,
  ...more,
});
/** 100 px are 10 s; now is at 700 px. */
const VIEW = { now: 100_000, spanMs: 100_000, panMs: 0, width: 1000 };
const named = (shapes: readonly Shape[], name: string) =>
  shapes.filter((shape) => shape.name.split(' ').includes(name));

describe('the layout', () => {
  test('a generation: in force, due, and its refresh token to the end', () => {
    const { shapes } = layOut([lane([generation(80_000)])], VIEW);
    expect(named(shapes, 'fresh')).toMatchObject([{ x: 500, width: 100 }]);
    expect(named(shapes, 'due')).toMatchObject([{ x: 600, width: 200 }]);
    expect(named(shapes, 'refreshable')).toMatchObject([{ x: 800, toX: 1008 }]);
  });

  test('a replaced generation ends early, and the next one has its own row', () => {
    const entries = [generation(60_000, { until: 72_000 }), generation(72_000)];
    const { shapes } = layOut([lane(entries)], VIEW);
    expect(named(shapes, 'fresh')).toMatchObject([
      { x: 300, width: 100 },
      { x: 420, width: 100 },
    ]);
    expect(named(shapes, 'left-over')).toMatchObject([{ x: 420, width: 180 }]);
    const [one, other] = named(shapes, 'fresh') as { y: number }[];
    expect(other!.y).toBeGreaterThan(one!.y);
  });

  test('two tabs with the same set: one bar, with the cause of the tab that refreshed', () => {
    const mine = lane([generation(80_000, { cause: 'tab' })]);
    const other = lane([generation(80_001, { key: '80000', cause: 'refresh' })], { tab: 'cd34', label: 'Tab 2' });
    const { shapes } = layOut([mine, other], { ...VIEW, spanMs: 30_000 });
    expect(named(shapes, 'fresh')).toHaveLength(1);
    expect(named(shapes, 'on-bar')).toMatchObject([{ text: 'refreshed by Tab 2' }]);
    expect(named(shapes, 'head').map((shape) => 'text' in shape && shape.text)).toEqual([
      'Tokens',
      'This tab: 0 refreshes here, stored in indexeddb',
      'Tab 2: 1 refresh here, stored in indexeddb',
    ]);
  });

  test('attempts: a disc, a cross with the status, a ring; the latency as a length', () => {
    const attempt = (at: number, until: number, outcome: string, failure?: string) => ({
      kind: 'attempt',
      action: 'refresh',
      at,
      until,
      outcome,
      failure,
    });
    const entries = [
      attempt(60_000, 62_000, 'token'),
      attempt(75_000, 75_010, 'failed', 'http_status 503'),
      attempt(90_000, 90_010, 'other_tab'),
    ];
    const { shapes } = layOut([lane(entries)], VIEW);
    expect(named(shapes, 'attempt').map(({ name }) => name)).toEqual([
      'attempt token',
      'attempt failed',
      'attempt none',
    ]);
    expect(named(shapes, 'latency')).toMatchObject([{ x: 300, width: 20 }]);
    expect(named(shapes, 'label')).toMatchObject([{ text: '503' }, { text: '2000 ms' }]);
  });

  test('a wait is a line to its planned end, with its reason if that fits; a normal wait is only its planned end', () => {
    const wait = { kind: 'wait', at: 90_000, plannedAt: 110_000, action: 'refresh' };
    const { shapes } = layOut([lane([{ ...wait, reason: 'back_off' }])], VIEW);
    expect(named(shapes, 'wait')).toMatchObject([{ x: 600, width: 200 }]);
    expect(named(shapes, 'planned')).toHaveLength(1);
    expect(named(shapes, 'label')).toMatchObject([{ text: 'back_off' }]);
    const normal = layOut([lane([{ ...wait, reason: 'refresh_from' }])], VIEW).shapes;
    expect(named(normal, 'wait')).toHaveLength(0);
    expect(named(normal, 'planned')).toHaveLength(1);
  });

  test('the legend explains every symbol of a lane', () => {
    const attempt = { kind: 'attempt', action: 'refresh', at: 60_000, until: 60_010 };
    const entries = [
      { ...attempt, outcome: 'token' },
      { ...attempt, outcome: 'failed', failure: 'http_status 503' },
      { ...attempt, outcome: 'other_tab' },
      { kind: 'wait', at: 90_000, plannedAt: 110_000, action: 'refresh', reason: 'back_off' },
      { kind: 'outage', at: 60_000, failure: 'http_status 503' },
      { kind: 'mark', at: 60_000, name: 'sign_in', detail: '' },
    ];
    const symbols = layOut([lane(entries)], VIEW).shapes.filter(({ type, name }) => type === 'path' || name === 'wait');
    const explained = createParts().flatMap((part) =>
      [...part.querySelectorAll('li [class]')].map((one) => one.getAttribute('class')!),
    );
    const unexplained = symbols.filter(({ name }) => !explained.some((known) => name.startsWith(known)));
    expect(unexplained).toEqual([]);
    expect(symbols.length).toBeGreaterThan(5);
  });

  test('labels never overlap and never leave the figure, at any width', () => {
    const entries = Array.from({ length: 60 }, (_, index) => ({
      kind: 'mark',
      at: 31_000 + index * 1_150,
      name: 'needs_tokens',
      detail: '',
    }));
    for (const width of [280, 390, 1000]) {
      const { shapes } = layOut([lane(entries)], { ...VIEW, width });
      const texts = named(shapes, 'label') as (Shape & { x: number; text: string })[];
      expect(texts.length).toBeGreaterThan(0);
      let free = 0;
      for (const { x, text } of texts.sort((one, other) => one.x - other.x)) {
        expect(x).toBeGreaterThanOrEqual(free);
        free = x + text.length * 6;
        expect(free).toBeLessThanOrEqual(width + 1);
      }
    }
  });

  test('user actions are labelled before the needs of the session', () => {
    const mark = (at: number, name: string) => ({ kind: 'mark', at, name, detail: '' });
    const { shapes } = layOut([lane([mark(60_000, 'needs_tokens'), mark(60_500, 'sign_in')])], VIEW);
    expect(named(shapes, 'label')).toMatchObject([{ text: 'Sign-in' }]);
  });

  test('without any entry: an axis and the instant now', () => {
    const { shapes } = layOut([], VIEW);
    expect(named(shapes, 'now')).toMatchObject([{ x: 700 }]);
    expect(named(shapes, 'time').length).toBeGreaterThan(3);
  });
});

describe('the view', () => {
  const view = { spanMs: 120_000, panMs: 0 };
  test.each([
    ['zoomIn', { spanMs: 60_000, panMs: 0 }],
    ['zoomOut', { spanMs: 300_000, panMs: 0 }],
    ['earlier', { spanMs: 120_000, panMs: 30_000 }],
    ['later', { spanMs: 120_000, panMs: -30_000 }],
    ['pause', { spanMs: 120_000, panMs: 0, pausedAt: 500 }],
  ] as const)('%s', (action, expected) => {
    expect(changeView(view, action, 500, [])).toEqual(expected);
  });

  test('stays within the available spans', () => {
    expect(changeView({ spanMs: SPANS[0]!, panMs: 0 }, 'zoomIn', 0, []).spanMs).toBe(SPANS[0]);
    expect(changeView({ spanMs: SPANS.at(-1)!, panMs: 0 }, 'zoomOut', 0, []).spanMs).toBe(SPANS.at(-1));
  });

  test('a paused view stands still, and "now" ends the pause', () => {
    const paused = changeView(view, 'pause', 1_000, []);
    expect(viewOf(paused, 5_000, 100)).toEqual({ now: 5_000, spanMs: 120_000, panMs: 4_000, width: 100 });
    expect(changeView(paused, 'now', 5_000, [])).toEqual({ spanMs: 120_000, panMs: 0 });
  });

  test('fit shows the first entry and the expiry of the set in force', () => {
    const { entries } = lane([generation(START - HOUR)]);
    const { spanMs } = changeView(view, 'fit', START, entries);
    expect(spanMs).toBe(21_600_000);
  });
});

describe('messages of other tabs', () => {
  const good = lane([generation(1), { kind: 'mark', at: 2, name: 'opt_out', detail: '' }]);
  test('a lane is read as it was sent', () => {
    expect(parseLane(structuredClone({ ...good, entries: good.entries.map((entry) => ({ ...entry })) }))).toEqual({
      ...good,
      entries: good.entries.map((entry) => (entry.kind === 'generation' ? { ...entry, key: '1' } : entry)),
    });
  });

  test.each([
    ['no object', 7],
    ['null', null],
    ['a tab with markup', { ...good, tab: '<b>' }],
    ['a long label', { ...good, label: 'x'.repeat(41) }],
    ['an unknown phase', { ...good, phase: 'happy' }],
    ['a clock offset that is no number', { ...good, clockOffsetMs: '0' }],
    ['too many entries', { ...good, entries: Array(151).fill(good.entries[0]) }],
    ['an unknown kind', { ...good, entries: [{ ...good.entries[0], kind: 'constructor' }] }],
    ['an instant that is not finite', { ...good, entries: [{ ...good.entries[0], at: Number.NaN }] }],
    ['an instant that no date can write', { ...good, entries: [{ ...good.entries[0], at: 1e300 }] }],
    ['an unknown mark', { ...good, entries: [{ ...good.entries[1], name: 'toString' }] }],
    [
      'a failure that may be anything',
      { ...good, entries: [{ kind: 'outage', id: 1, at: 1, failure: 'user@example.com' }] },
    ],
  ])('%s is refused', (_, message) => {
    expect(parseLane(message)).toBeUndefined();
  });

  test('unknown fields are dropped', () => {
    const parsed = parseLane({ ...good, token: 'a', entries: [{ ...good.entries[1], token: 'a' }] });
    expect(JSON.stringify(parsed)).not.toContain('token');
  });

  test('a label and the kind of a store reach the other tabs, whatever characters they have', () => {
    const label = toText('Küche <b>, zweiter Tab '.repeat(3));
    const persistence = toText('rn:mmkv@1');
    expect({ label, persistence }).toEqual({
      label: 'Küche _b__ zweiter Tab Küche _b__ zweite',
      persistence: 'rn:mmkv_1',
    });
    expect(parseLane({ ...good, label, persistence })).toMatchObject({ label, persistence });
  });

  test('a script that posts lane after lane does not fill the memory', async () => {
    let seen: readonly Lane[] = [];
    const { close } = connectLanes(
      't4',
      () => undefined,
      (lanes) => {
        seen = lanes;
      },
    );
    const script = new BroadcastChannel('t4-inspector');
    for (let tab = 0; tab < 200; tab++) script.postMessage({ ...good, tab: `t${tab}` });
    script.postMessage({ ...good, tab: 't0', label: 'last' });
    await expect.poll(() => seen.some(({ label }) => label === 'last'), { timeout: 20_000 }).toBe(true);
    expect(seen.length).toBe(30);
    script.close();
    close();
  });

  test('a page that was cached and is shown again appears in the lanes of all other tabs, and shows theirs', async () => {
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
    other.send();
    await expect.poll(tabs, { timeout: 20_000 }).toEqual([['two'], ['one']]);
    // Both listen to the events of this one window: each takes its leave, and each comes back.
    window.dispatchEvent(new Event('pagehide'));
    await expect.poll(tabs, { timeout: 20_000 }).toEqual([[], []]);
    window.dispatchEvent(Object.assign(new Event('pageshow'), { persisted: true }));
    await expect.poll(tabs, { timeout: 20_000 }).toEqual([['two'], ['one']]);
    cached.close();
    other.close();
  });

  test('a page that is left closes its channel: a message would evict it from the cache', () => {
    const closed = vi.spyOn(BroadcastChannel.prototype, 'close');
    const { close } = connectLanes(
      't3',
      () => good,
      () => {},
    );
    window.dispatchEvent(new Event('pagehide'));
    expect(closed).toHaveBeenCalledOnce();
    close();
    expect(closed).toHaveBeenCalledOnce();
    closed.mockRestore();
  });

  test('inspectors find each other, and one that leaves is removed', async () => {
    const seen: (readonly Lane[])[] = [];
    const heard = (count: number) => expect.poll(() => seen.at(-1)?.length, { timeout: 20_000 }).toBe(count);
    const first = connectLanes(
      't',
      () => good,
      () => {},
    );
    const second = connectLanes(
      't',
      () => undefined,
      (lanes) => seen.push(lanes),
    );
    await heard(1);
    first.close();
    await heard(0);
    second.close();
  });
});

describe('words', () => {
  test.each([
    [0, '0 s'],
    [8_000, '8 s'],
    [150_000, '2 min 30 s'],
    [3_600_000, '1 h'],
    [100_800_000, '1 d 4 h'],
  ])('%i ms: %s', (ms, text) => {
    expect(durationText(ms)).toBe(text);
  });

  test('each kind of entry is a sentence', () => {
    const { entries } = lane([
      { kind: 'attempt', action: 'refresh', at: 0, until: 12, outcome: 'token' },
      { kind: 'attempt', action: 'refresh', at: 0, until: 12, outcome: 'failed', failure: 'timeout' },
      { kind: 'attempt', action: 'provide', at: 0 },
      { kind: 'outage', at: 0, until: 90_000, failure: 'network' },
      { kind: 'wait', at: 0, action: 'signIn', reason: 'host' },
      { kind: 'mark', at: 0, name: 'storage', detail: 'memory' },
    ]);
    expect(entries.map(describeEntry)).toEqual([
      'Attempt (refresh): a new token, after 12 ms',
      'Attempt (refresh): failed, timeout, after 12 ms',
      'Attempt (provide): in progress',
      'Outage (network) for 1 min 30 s',
      'Next: signIn (host: the page must call it)',
      'Storage: memory',
    ]);
    expect(reportText([lane([])], 0, { locks: true })).toContain(
      'Tab ab12, this one: phase fresh, stored in indexeddb',
    );
  });
});

describe('over a real session', () => {
  beforeEach(() => void useFakeClock());
  afterEach(async () => {
    document.body.innerHTML = '';
    await restoreGlobals();
  });

  test('a life: sign-in, refreshes, an outage with its retries, the end of it, sign-out', async () => {
    const fixture = createOperatorFixture();
    const { session } = fixture.open();
    const watched = watchSession(session, Date.now, () => {});
    const answer = await fixture.answerFor('user@example.com');
    await session.setTokens(answer);
    await fixture.advance(16 * MINUTE);
    fixture.network(async () => new Response(null, { status: 503 }));
    await fixture.advance(16 * MINUTE);
    fixture.network();
    await fixture.advance(5 * MINUTE);
    await session.clear();
    await fixture.settle();
    const { entries } = watched.log();
    const of = (kind: Entry['kind']) => entries.filter((entry) => entry.kind === kind);
    expect(of('generation')).toMatchObject([
      { cause: 'set', at: START, refreshAt: START + 15 * MINUTE },
      { cause: 'refresh', at: START + 15 * MINUTE },
      { cause: 'refresh' },
    ]);
    const attempts = of('attempt') as { outcome: string }[];
    expect(attempts[0]).toMatchObject({ outcome: 'token' });
    expect(attempts.at(-1)).toMatchObject({ outcome: 'token' });
    expect(attempts.slice(1, -1).length).toBeGreaterThan(0);
    for (const attempt of attempts.slice(1, -1))
      expect(attempt).toMatchObject({ outcome: 'failed', failure: 'http_status 503' });
    expect(of('outage')).toMatchObject([{ failure: 'http_status 503', until: expect.any(Number) }]);
    expect(of('wait').some((entry) => 'reason' in entry && entry.reason === 'back_off')).toBe(true);
    expect(of('mark').map((entry) => 'name' in entry && entry.name)).toEqual([
      'storage',
      'needs_tokens',
      'sign_in',
      'sign_out',
    ]);
    watched.stop();
    fixture.close();
  });

  test('an element that is removed records nothing; inserted again, it continues', async () => {
    const fixture = createOperatorFixture();
    const { session } = fixture.open();
    const element = document.createElement('tessera-inspector') as InspectorElement;
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
    element.remove();
    fixture.close();
  });

  test('a session and a clock that were set before the element was defined are adopted', () => {
    const fixture = createOperatorFixture();
    const { session } = fixture.open();
    const Element = customElements.get('tessera-inspector')!;
    const before = Object.assign(document.createElement('tessera-later'), { session, now: () => START + HOUR });
    document.body.append(before);
    customElements.define('tessera-later', class extends Element {});
    const element = before as unknown as InspectorElement;
    expect(Object.keys(element)).toEqual([]);
    expect(element.session).toBe(session);
    expect(element.report).toContain(new Date(START + HOUR).toISOString());
    expect(element.shadowRoot!.querySelector('.now span')!.textContent).toContain('next: refresh (the stored record');
    element.remove();
    fixture.close();
  });

  test('a closed session is shown as closed', async () => {
    const fixture = createOperatorFixture();
    const { session } = fixture.open();
    const element = document.createElement('tessera-inspector') as InspectorElement;
    document.body.append(element);
    const said = () => element.shadowRoot!.querySelector('.now span')!.textContent;
    expect(said()).toBe('no session yet');
    element.session = session;
    expect(said()).toContain('next: refresh');
    session.close();
    await fixture.settle();
    expect(said()).toBe('closed');
    element.remove();
    fixture.close();
  });

  test.each(['Infinity', '1e300', '1e9'])('a span of %s seconds is shown as the longest available one', (span) => {
    const element = document.createElement('tessera-inspector') as InspectorElement;
    element.setAttribute('span', span);
    document.body.append(element);
    const shown = () => element.shadowRoot!.querySelector('.span')!.textContent;
    expect(shown()).toBe('30 d');
    element.shadowRoot!.querySelector<HTMLElement>('[data-do=zoomIn]')!.click();
    expect(shown()).toBe('7 d');
    element.remove();
  });

  test('the element shows the session, follows the keys, and its report contains no token, key or DII', async () => {
    const fixture = createOperatorFixture();
    const answer = await fixture.answerFor('user@example.com');
    const { session } = fixture.open();
    const element = document.createElement('tessera-inspector') as InspectorElement;
    document.body.append(element);
    element.session = session;
    await session.setTokens(answer);
    await fixture.advance(16 * MINUTE);
    const root = element.shadowRoot!;
    expect(root.querySelector('strong')!.textContent).toBe('fresh');
    expect(root.querySelector('.now span')!.textContent).toContain('next: refresh in 14 min');
    const press = (key: string) => root.querySelector('.figure')!.dispatchEvent(new KeyboardEvent('keydown', { key }));
    expect(root.querySelector('.span')!.textContent).toBe('2 min');
    press('-');
    expect(root.querySelector('.span')!.textContent).toBe('5 min');
    press(' ');
    expect(root.querySelector('[data-do=pause]')!.getAttribute('aria-pressed')).toBe('true');
    root.querySelector('details')!.open = true;
    root.querySelector('details')!.dispatchEvent(new Event('toggle'));
    expect(root.querySelector('ol')!.textContent).toContain('Sign-in: set');
    const text = root.innerHTML + element.report;
    expect(element.report).toContain('Token, refreshed here');
    const held = (answer as { body: Record<string, unknown> }).body;
    for (const name of ['advertising_token', 'refresh_token', 'refresh_response_key'])
      expect(text).not.toContain(String(held[name]));
    expect(text).not.toContain(session.advertisingToken!);
    expect(text).not.toContain('user@example.com');
    element.remove();
    fixture.close();
  });
});
