/**
 * A simulated month of one profile: a user who wakes the device in the morning and lets it sleep at night, reads in up to
 * five tabs, logs out and returns; a network that fails for minutes or hours; a clock that is set now and then.
 *
 * It counts what matters to a publisher: requests, time without a token, and wrong tokens. The rules are in `test/model/invariants.ts`.
 */

import { bundleSession } from '../../test/model/bundle.ts';
import { type NetFault, OUTAGES } from '../../test/model/network.ts';
import { createProfile } from '../../test/model/profile.ts';
import { createRandom } from '../../test/model/random.ts';
import { closeAll } from '../../test/model/settle-and-close.ts';
import type { Tab } from '../../test/model/tab.ts';
import { DAY, HOUR, MINUTE } from '../../test/model/time.ts';

/** Interval of the measurements, ms. */
const TICK_MS = 5_000;
/** Interval, in ticks, in which the visible page reads the token, as for an auction. */
const AUCTION_TICKS = 6;
/** Lifetimes as in production, s: due after one hour, valid for four, refreshable for 30 days. */
export const LIFETIMES = { identityExpires: 14_400, refreshFrom: 3_600, refreshExpires: 2_592_000 };

export interface LongRun {
  readonly days: number;
  readonly seed: number;
}

/** The result. Durations in ms. */
export interface Report {
  readonly days: number;
  readonly seed: number;
  readonly visibleMs: number;
  readonly opened: number;
  readonly outages: number;
  readonly outageMs: number;
  readonly clockSteps: number;
  /** Refresh requests of all tabs. */
  readonly calls: number;
  /** The least possible number: one whenever a set is due, a page is visible and the service answers. */
  readonly leastCalls: number;
  readonly callsInOutages: number;
  /** The largest number of them within half an hour. */
  readonly mostInHalfHour: number;
  /** Time without a token while a page was visible, a user signed in, and the service available. */
  readonly withoutTokenMs: number;
  /** The longest such time. */
  readonly longestWithoutMs: number;
  /** The longest time from the end of an outage, with a visible page whose set is due, until there was a fresh set. */
  readonly longestRecoveryMs: number;
  readonly wrongTokens: number;
  /** All violations of invariants. */
  readonly faults: readonly string[];
}

export const runLong = async ({ days, seed }: LongRun): Promise<Report> => {
  const random = createRandom(seed);
  const profile = createProfile(
    {
      seed,
      locks: 'works',
      channel: 'works',
      hasStorage: true,
      isDateReadable: true,
      dateErrorMs: 0,
      keepsRefreshToken: false,
      lifetimes: LIFETIMES,
      stopsAsleep: random.happens(0.5),
      hasProvide: true,
      listenerKind: 'plain',
      readsTokens: false,
    },
    await bundleSession(),
  );
  const { time, network, service } = profile;
  const startAt = time.nowMs;
  const endAt = startAt + days * DAY;
  const count = {
    visibleMs: 0,
    opened: 0,
    outages: 0,
    outageMs: 0,
    clockSteps: 0,
    leastCalls: 0,
    withoutTokenMs: 0,
    longestWithoutMs: 0,
    longestRecoveryMs: 0,
  };
  let callsInOutages = 0;
  let user: string | undefined = 'ann';
  let signedInAt = 0;
  let idealDueAt = Number.POSITIVE_INFINITY;
  let withoutMs = 0;
  let outageUntil = 0;
  let recoverySince: number | undefined;
  let countedCalls = 0;
  let ticks = 0;

  const present = (): Tab[] => profile.tabs.filter((tab) => !tab.page.isGone);
  const seen = (): Tab | undefined => present().find((tab) => tab.isRunning && tab.page.isVisible);
  const hideAll = () => {
    for (const tab of present()) if (tab.isRunning) tab.page.hide();
  };
  const focus = (tab: Tab) => {
    hideAll();
    if (tab.page.isCached) tab.thaw(() => tab.page.restore());
    else {
      if (tab.page.isFrozen) tab.thaw(() => tab.page.resume());
      tab.page.show();
    }
  };
  const open = () => {
    hideAll();
    count.opened++;
    return profile.open({ visible: true });
  };
  const signIn = async (tab: Tab, who: string) => {
    user = who;
    signedInAt = time.nowMs;
    idealDueAt = time.nowMs + LIFETIMES.refreshFrom * 1000;
    const { answer, root } = await profile.answerFor(who);
    profile.setTokens(tab, answer, root);
  };

  /** Whether the tab gives out a valid token. */
  const isServed = (tab: Tab) => {
    const issued = tab.shown === undefined ? undefined : service.find(tab.shown);
    return !!issued && issued.wire.identity_expires > time.nowMs;
  };

  const tick = async () => {
    const isOut = network.fault !== 'none';
    await profile.pass(TICK_MS, 'a tick');
    ticks++;
    const made = network.calls.length - countedCalls;
    countedCalls = network.calls.length;
    if (isOut) {
      callsInOutages += made;
      count.outageMs += TICK_MS;
    }
    const tab = seen();
    if (tab) {
      count.visibleMs += TICK_MS;
      if (ticks % AUCTION_TICKS === 0) tab.readToken('an auction');
      if (!isOut && user && time.nowMs >= idealDueAt) {
        count.leastCalls++;
        idealDueAt = time.nowMs + LIFETIMES.refreshFrom * 1000;
      }
    }
    if (tab && user && !isOut && time.nowMs > signedInAt + TICK_MS && !isServed(tab)) {
      withoutMs += TICK_MS;
      count.withoutTokenMs += TICK_MS;
      count.longestWithoutMs = Math.max(count.longestWithoutMs, withoutMs);
    } else withoutMs = 0;
    if (recoverySince !== undefined) {
      const { phase } = tab?.session.state ?? {};
      if (!tab || isOut || !user) recoverySince = undefined;
      else if (phase === 'fresh') {
        count.longestRecoveryMs = Math.max(count.longestRecoveryMs, time.nowMs - recoverySince);
        recoverySince = undefined;
      }
    }
    if (isOut && time.nowMs >= outageUntil) {
      profile.setNetwork('none');
      recoverySince = tab && user && tab.session.state.phase !== 'fresh' ? time.nowMs : undefined;
    }
  };

  /** Simulate one minute of user, browser, network and clock. */
  const minute = async () => {
    const tabs = present();
    if (!tabs.length || (tabs.length < 5 && random.happens(0.02))) {
      const tab = open();
      if (!user && random.happens(0.3)) await signIn(tab, random.pick(['ann', 'bob']));
    } else if (random.happens(0.08)) focus(random.pick(tabs));
    else if (random.happens(0.01)) random.pick(tabs).page.leave();
    else if (random.happens(0.003)) random.pick(tabs).page.kill();
    else if (random.happens(0.012)) hideAll();
    // Browsers freeze pages that have been hidden for long, and cache some pages that were left.
    for (const tab of present())
      if (tab.isRunning && !tab.page.isVisible) {
        if (random.happens(0.1)) tab.page.freeze();
        else if (random.happens(0.01)) await tab.page.cache();
      }
    const shown = seen();
    if (shown && user && random.happens(1 / (16 * 60 * 8))) {
      user = undefined;
      profile.clear(shown);
    } else if (shown && !user && random.happens(0.01)) await signIn(shown, random.pick(['ann', 'bob']));
    if (network.fault === 'none') {
      const isLong = random.happens(0.1);
      if (random.happens(1.5 / (16 * 60))) {
        count.outages++;
        outageUntil = time.nowMs + (isLong ? random.integer(1, 6) * HOUR : random.integer(1, 40) * MINUTE);
        profile.setNetwork(random.pick<NetFault>(OUTAGES));
      }
    }
    if (random.happens(1 / (16 * 60 * 3))) {
      count.clockSteps++;
      profile.stepClock(random.pick([HOUR, -HOUR, 20_000, -20_000, DAY, -DAY]));
    }
    for (let i = 0; i < MINUTE / TICK_MS; i++) await tick();
  };

  await profile.pass(0);
  await signIn(open(), 'ann');
  while (time.nowMs < endAt) {
    const dayEnds = time.nowMs + random.integer(14, 17) * HOUR;
    while (time.nowMs < dayEnds && time.nowMs < endAt) await minute();
    if (time.nowMs >= endAt) break;
    profile.sleep(random.integer(6, 9) * HOUR + random.integer(0, 59) * MINUTE);
    recoverySince = undefined;
    if (random.happens(0.5)) profile.online();
  }
  const { calls } = network;
  const inOutage = calls.filter(({ fault }) => (OUTAGES as readonly string[]).includes(fault));
  const mostInHalfHour = Math.max(
    0,
    ...inOutage.map(({ at }) => inOutage.filter((one) => one.at >= at && one.at < at + 30 * MINUTE).length),
  );
  await closeAll(profile);
  return {
    days,
    seed,
    ...count,
    calls: calls.length,
    callsInOutages,
    mostInHalfHour,
    wrongTokens: profile.wrong(),
    faults: profile.faults,
  };
};

/** What went wrong: the violations of invariants, and the figures that are worse than docs/guarantees.md promises. */
export const failuresOf = (report: Report): readonly string[] => {
  const { faults, mostInHalfHour, calls, callsInOutages, leastCalls, withoutTokenMs, visibleMs } = report;
  const limits: readonly [what: string, found: number, most: number][] = [
    ['calls within half an hour of an outage', mostInHalfHour, 15],
    // A few requests where pages come and go. Those in outages do not count.
    ['calls outside outages', calls - callsInOutages, 1.2 * leastCalls + 5],
    ['ms without a token', withoutTokenMs, 0.005 * visibleMs],
  ];
  const exceeded = limits.filter(([, found, most]) => !(found <= most));
  return [...faults, ...exceeded.map(([what, found, most]) => `${what}: expected at most ${most}, got ${found}`)];
};

const hours = (ms: number) => `${(ms / HOUR).toFixed(1)} h`;
const seconds = (ms: number) => `${Math.round(ms / 1000)} s`;

/** Render reports as a Markdown table. */
export const tableOf = (some: readonly Report[]): string => {
  const rows: [string, (report: Report) => string][] = [
    ['seed', ({ seed }) => `${seed}`],
    ['visible', ({ visibleMs }) => hours(visibleMs)],
    ['pages opened', ({ opened }) => `${opened}`],
    ['outages', ({ outages, outageMs }) => `${outages}, ${hours(outageMs)}`],
    ['clock steps', ({ clockSteps }) => `${clockSteps}`],
    ['refresh calls (least possible)', ({ calls, leastCalls }) => `${calls} (${leastCalls})`],
    ['of these in outages', ({ callsInOutages }) => `${callsInOutages}`],
    ['most in 30 minutes of outage', ({ mostInHalfHour }) => `${mostInHalfHour}`],
    ['without a token although one was available', ({ withoutTokenMs }) => seconds(withoutTokenMs)],
    ['longest of these', ({ longestWithoutMs }) => seconds(longestWithoutMs)],
    ['longest recovery after an outage', ({ longestRecoveryMs }) => seconds(longestRecoveryMs)],
    ['wrong tokens', ({ wrongTokens }) => `${wrongTokens}`],
  ];
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const head = ['', ...some.map(({ days }) => `${days} days`)];
  return [line(head), line(head.map(() => '---')), ...rows.map(([what, of]) => line([what, ...some.map(of)]))].join(
    '\n',
  );
};
