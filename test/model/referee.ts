/**
 * The referee of a world: it sees every call, every token that is shown and every act, and says what is wrong.
 *
 * It looks at sessions from outside alone; what must be so is in `truth.ts`.
 */

import type { Disk } from './disk.ts';
import type { Call, Network } from './network.ts';
import type { Lifetimes, Service } from './service.ts';
import type { Leave } from './shared.ts';
import type { Manner, Tab } from './tab.ts';
import type { Time } from './time.ts';
import { type Act, createTruth } from './truth.ts';

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
export const START = Date.UTC(2030, 0, 15, 12);
/** How wrong a clock may be that is taken for right: an answer may travel for ten seconds, and `Date` has whole ones. */
const CLOCK_TOLERANCE_MS = 12_000;
/** By when what nobody promises has come about in a tab that runs. */
const SETTLED_MS = 4_000;
/** Calls that all tabs together may make in half an hour of outage. */
const OUTAGE_BUDGET = 15;
const OUTAGE_WINDOW_MS = 30 * MINUTE;
/** More fresh sets than this within the window are a loop. */
const LOOP_CALLS = 3;
const LOOP_WINDOW_MS = 5 * MINUTE;
/** How many supplied sets a session tells again for sure. */
const REMEMBERED = 3;

export interface Setup {
  readonly seed: number;
  readonly locks: Leave;
  readonly channel: Leave;
  readonly hasDisk: boolean;
  readonly isDateReadable: boolean;
  readonly lifetimes: Lifetimes;
  /** The monotonic clock, and with it every timer, stops while the device sleeps. */
  readonly stopsAsleep: boolean;
  readonly hasProvide: boolean;
  readonly manner: Manner;
  /** Scripts look at every tab after each step; else tabs are left to their timers and events. */
  readonly looks: boolean;
}

/** Something that has not settled by itself: what a service, a page as rendered or a withdrawal of consent has brought. */
interface Loose {
  readonly act: Act;
  readonly tab: Tab;
  readonly ran: number;
  /** It comes about only if nobody acts meanwhile. */
  readonly isFenced: boolean;
}

/** What there is to look at. */
export interface Field {
  readonly setup: Setup;
  readonly time: Time;
  readonly next: () => number;
  readonly service: Service;
  readonly tabs: readonly Tab[];
  readonly disk: Disk;
  readonly network: () => Network;
}

export const createReferee = ({ setup, time, next, service, tabs, disk, network: networkOf }: Field) => {
  const faults: string[] = [];
  /** Tokens that were shown and must not have been. */
  let wrong = 0;
  const fault = (what: string) => {
    if (what.includes(' shows a token')) wrong++;
    if (faults.length < 5) faults.push(`${what} (+${Math.round(time.nowMs - START)} ms)`);
  };

  /** What the referee is told of the world. */
  const known = {
    /** The device's clock minus the true time, ms, and whether it has ever been wrong. */
    skewMs: 0,
    wasSkewed: false,
    /** It has been set. */
    wasSet: false,
    /** Calls of `refresh()` by a host that have not settled, and when the last did. */
    asking: 0,
    askedAt: START - DAY,
    diskFaultyAt: START - DAY,
    /** When the store last lost what it knew: what is written at that time may go with it. */
    lostAt: START - DAY,
    outageSince: undefined as number | undefined,
  };
  const isDiskSlow = () => disk.fault !== 'none' || time.nowMs < known.diskFaultyAt + 8_000;
  const truth = createTruth(next, () => tabs, isDiskSlow);
  /** Whatever may bring a call of its own during an outage: acts of hosts, wake-ups, failures of storage and pages. */
  const excuses: number[] = [];

  /** When the sets that are told again were last forgotten. */
  let forgottenSeq = 0;
  const loose: Loose[] = [];
  /** Pages that came with a set that is known: no acts, as things stand. */
  const idle: { readonly tab: Tab; readonly ran: number; readonly root: number; readonly startSeq: number }[] = [];
  /** Refresh tokens whose answer is in the store, by when. */
  const rotated = new Map<string, { readonly at: number; readonly seq: number }>();
  const texts = new Set<string>();
  let textsRead = 0;
  const tabOf = (call: Call): Tab | undefined => tabs.find(({ page }) => page.owner === call.owner);
  const letGo = (act: Act, tab: Tab, isFenced = false, ran = tab.ran()) => void loose.push({ act, tab, ran, isFenced });

  /** A page sends a set. */
  const onSend = (call: Call) => {
    const tab = tabOf(call);
    if (!tab) return;
    call.spender = tab.isAlone ? tab.id : -1;
    if (!call.sent) return fault(`tab ${tab.id} sends a refresh token that nobody issued`);
    if (!tab.granted) fault(`tab ${tab.id} sends without consent`);
    if (tab.isClosed) fault(`tab ${tab.id} sends after close()`);
    if (tab.isOff) fault(`tab ${tab.id} refreshes though another owner does`);
    for (const other of networkOf().flying()) {
      const of = tabOf(other);
      if (other === call || !of) continue;
      // A page that cannot run holds nothing up; one on its own knows nobody; a lease needs a store that answers.
      const areTogether =
        !of.isHalted &&
        !of.page.areTimersStopped &&
        !of.isAlone &&
        !tab.isAlone &&
        // A lease goes with its set, and with the clock: where that was set, tabs do not agree about the time. It goes with
        // an act, too, that the other has not heard of.
        (setup.locks === 'works' ||
          (!isDiskSlow() &&
            other.token === call.token &&
            !known.wasSet &&
            !truth.isNews(of, other.seq, setup.channel === 'works')));
      if (of === tab || areTogether) fault(`tab ${tab.id} sends while a call of tab ${of.id} is in flight`);
    }
    const { refresh_from: dueAt } = call.sent.wire;
    if (
      !known.wasSkewed &&
      dueAt > time.nowMs + CLOCK_TOLERANCE_MS &&
      !known.asking &&
      time.nowMs > known.askedAt + 30_000 &&
      !truth.acts.some(({ kind }) => kind === 'optout')
    )
      fault(`tab ${tab.id} sends a set that is due only in ${dueAt - time.nowMs} ms`);
    const before = rotated.get(call.token);
    if (before && time.nowMs > before.at + 2_000 && !tab.isAlone && !isDiskSlow()) {
      // An opt-out forgets which sets there were: a page that had to wait for consent may bring its own again.
      const isSupplied = truth.acts.some(
        (act) => act.kind === 'optout' || (act.root === call.sent!.root && act.startSeq > before.seq),
      );
      if (!isSupplied) fault(`tab ${tab.id} sends a refresh token again that has been exchanged`);
    }
    return undefined;
  };

  /** A page has an answer. */
  const onDelivered = (call: Call) => {
    const tab = tabOf(call);
    if (!tab || !call.said) return;
    if (call.said === 'optout') {
      const act = truth.begin('optout', tab.id, { isWeak: true, startSeq: call.seq });
      letGo(act, tab, true);
      // What the session knows of supplied sets goes with the user.
      forgetKnown();
    } else if (call.said !== 'ended') {
      truth.lift();
      const isRecent = (at: number | undefined) => at !== undefined && at > time.nowMs - LOOP_WINDOW_MS;
      const recent = networkOf().calls.filter(
        (one) => one.spender === call.spender && isRecent(one.deliveredAt) && Object(one.said) === one.said,
      );
      if (recent.length > LOOP_CALLS + excuses.filter(isRecent).length)
        fault(`${recent.length} sets fetched within five minutes`);
      if (tab.isAlone || isDiskSlow()) return;
      const isFenced = truth.acts.some(
        (act) => act.startSeq > call.seq || act.settledSeq === undefined || act.settledSeq > call.seq,
      );
      if (!isFenced && !tab.isHalted) rotated.set(call.token, { at: time.nowMs, seq: next() });
    }
  };

  /** A token is shown: whose is it, is it good, may it be shown here? */
  const judge = (tab: Tab, token: string, how: string) => {
    const issued = service.find(token);
    if (!issued) return fault(`tab ${tab.id} shows a token that nobody issued`);
    const lateMs = time.nowMs - issued.wire.identity_expires;
    const learnedMs = tab.session.state.clockOffsetMs ?? 0;
    const isClockRight = !known.wasSkewed || Math.abs(known.skewMs + learnedMs) < CLOCK_TOLERANCE_MS;
    if (isClockRight && lateMs > CLOCK_TOLERANCE_MS)
      fault(`tab ${tab.id} shows a token ${lateMs} ms after its end (${how})`);
    const why = truth.judge(tab, issued.root, issued.refreshed, setup.channel === 'works');
    if (why) fault(`tab ${tab.id} shows a token of ${issued.user}, set ${issued.root} (${how}): ${why}`);
    return undefined;
  };

  const isWritten = (token: string) => {
    for (; textsRead < disk.written.length; textsRead++)
      for (const [, text] of disk.written[textsRead]!.matchAll(/"advertisingToken":"([^"]*)"/g)) texts.add(text!);
    return texts.has(token);
  };

  const forgetKnown = () => {
    forgottenSeq = next();
    revise();
  };
  /** A set that was known when a page came with it may be forgotten before it is looked at. */
  const revise = () => {
    for (let i = idle.length - 1; i >= 0; i--) {
      const { tab, ran, root, startSeq } = idle[i]!;
      const isOver = !tab.page.isGone && tab.ran() > Math.max(ran, tab.openedAt) + SETTLED_MS;
      if (!isOver && isKnown(root)) continue;
      idle.splice(i, 1);
      if (isOver) continue;
      const act = truth.begin('set', tab.id, { root, isWeak: true, startSeq });
      letGo(act, tab, false, ran);
    }
  };
  /** A set is told again for sure: it was taken, and few others have been supplied since. */
  const isKnown = (root: number): boolean => {
    const sets = truth.acts.filter(({ kind }) => kind === 'set');
    const last = sets.findLast((act) => act.root === root && !act.isWeak && act.settledSeq !== undefined);
    if (!last || last.startSeq < forgottenSeq) return false;
    const since = sets.filter((act) => act.root !== root && (act.settledSeq ?? next()) > last.startSeq);
    return new Set(since.map((act) => act.root)).size < REMEMBERED;
  };

  /** See to what nobody promises. */
  const tighten = () => {
    for (let i = loose.length - 1; i >= 0; i--) {
      const { act, tab, ran, isFenced } = loose[i]!;
      // What waits for consent when its tab is closed, never comes about.
      const isOver = tab.page.isGone || (tab.isClosed && tab.openedAt === Number.POSITIVE_INFINITY);
      if (!isOver && tab.ran() < Math.max(ran, tab.openedAt) + SETTLED_MS) continue;
      loose.splice(i, 1);
      const isAsked =
        isFenced && truth.acts.some((other) => other !== act && (other.settledSeq ?? next()) > act.startSeq);
      // The word of the service is taken for more than a chance only now.
      const isSure = !(!truth.isStored() || isOver || tab.isAlone || isDiskSlow() || isAsked);
      if (isFenced && isSure && act.settledSeq === undefined) act.isWeak = false;
      truth.settle(act, !isSure);
      if (isSure && act.kind === 'forget' && !loose.some((one) => one.tab === tab) && tab.isTelling())
        fault(`tab ${tab.id} has not erased what it wrote when consent was withdrawn`);
    }
  };

  const checkBudget = () => {
    if (known.outageSince === undefined) return;
    const from = Math.max(known.outageSince + 15_000, time.nowMs - OUTAGE_WINDOW_MS);
    const excused = excuses.filter((at) => at > from - MINUTE).length;
    // A tab without the store that others share has a budget of its own.
    const made = new Map<number, number>();
    for (const { at, spender } of networkOf().calls) if (at > from) made.set(spender, (made.get(spender) ?? 0) + 1);
    for (const [spender, calls] of made)
      if (calls > OUTAGE_BUDGET + 4 * excused)
        fault(
          `${calls} calls in half an hour of outage (${excused} excused${spender < 0 ? '' : `, of tab ${spender} alone`})`,
        );
  };

  return {
    faults,
    fault,
    known,
    truth,
    isDiskSlow,
    onSend,
    onDelivered,
    judge,
    isWritten,
    forgetKnown,
    revise,
    isKnown,
    /** An act that nobody promises anything about. */
    letGo,
    /** A page came with a set that is known. */
    rest: (tab: Tab, root: number) => void idle.push({ tab, ran: tab.ran(), root, startSeq: next() }),
    excuse: () => void excuses.push(time.nowMs),
    /** The store has lost what it knew. */
    lose: () => {
      known.lostAt = time.nowMs;
      truth.forgetAll();
      forgetKnown();
      rotated.clear();
    },
    wrong: () => wrong,
    /** Look at what nobody has told of. */
    check: () => {
      tighten();
      checkBudget();
      for (const call of networkOf().flying()) {
        const tab = tabOf(call);
        if (tab && !tab.isHalted && (!tab.granted || tab.isClosed))
          fault(`tab ${tab.id}: a call goes on without leave`);
      }
    },
  };
};
export type Referee = ReturnType<typeof createReferee>;
