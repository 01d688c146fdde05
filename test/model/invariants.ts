/**
 * The checker of the invariants: it observes every request, every token given out and every operation in a simulated
 * profile, and collects violations.
 *
 * It observes sessions from outside only. Which token may be given out is decided in `expected-state.ts`.
 */

import { createAttempts } from './attempts.ts';
import { createExpectedState, type Operation } from './expected-state.ts';
import type { HostStoreFault } from './host-store.ts';
import type { Availability } from './locks-and-channels.ts';
import type { Call, Network } from './network.ts';
import type { Lifetimes, Service } from './service.ts';
import type { ProfileStorage, StorageFault } from './storage.ts';
import type { ListenerKind, Tab } from './tab.ts';
import { DAY, START, type Time } from './time.ts';

/** Tolerated error of a clock, ms: an answer may take ten seconds, and the Date header has a resolution of one. */
const CLOCK_TOLERANCE_MS = 12_000;
/** No more faults of a run are reported. */
export const MOST_FAULTS = 5;
/** Running time of a tab after which an operation without a promise has taken effect, ms. */
export const SETTLED_MS = 4_000;

export interface Setup {
  readonly seed: number;
  readonly locks: Availability;
  readonly channel: Availability;
  readonly hasStorage: boolean;
  /** The fault of the store at the start. */
  readonly storage?: StorageFault;
  readonly isDateReadable: boolean;
  /** How far the `Date` header is off, ms: below 0 that of a cache, above 0 that of a server whose clock is ahead. */
  readonly dateErrorMs: number;
  /** Whether refresh answers repeat the refresh token that was sent. */
  readonly keepsRefreshToken: boolean;
  readonly lifetimes: Lifetimes;
  /** Whether the monotonic clock, and with it every timer, stops while the device sleeps. */
  readonly stopsAsleep: boolean;
  readonly hasProvide: boolean;
  readonly listenerKind: ListenerKind;
  /** Whether every tab's token is read after each step; otherwise tabs run by their timers and events alone. */
  readonly readsTokens: boolean;
  /** Whether pages give the labels of their users; see `labels.ts`. */
  readonly hasLabels?: boolean;
  /** Pages bring a store of their own, whose changes fail in these ways; see `host-store.ts`. */
  readonly hostStoreFaults?: readonly HostStoreFault[];
  /** The time limits of pages, ms, of which each page draws one; all have that of the session if absent. */
  readonly timeouts?: readonly number[];
}

/** An operation without a promise: an opt-out answer, a set in the `tokens` option, a withdrawal of consent. */
interface Tracked {
  readonly operation: Operation;
  readonly tab: Tab;
  readonly ran: number;
  /** Whether any later operation prevents it from taking effect. */
  readonly isFenced: boolean;
}

/** What the checker observes. */
export interface Field {
  readonly setup: Setup;
  readonly time: Time;
  readonly next: () => number;
  readonly service: Service;
  readonly tabs: readonly Tab[];
  readonly storage: ProfileStorage;
  readonly network: () => Network;
}

export const createChecker = ({ setup, time, next, service, tabs, storage, network: networkOf }: Field) => {
  const faults: string[] = [];
  /** Number of tokens given out that must not have been. */
  let wrong = 0;
  const fault = (what: string) => {
    if (what.includes(' shows a token')) wrong++;
    if (faults.length < MOST_FAULTS) faults.push(`${what} (+${Math.round(time.nowMs - START)} ms)`);
  };

  /** Conditions of the profile, reported by `profile.ts`. */
  const conditions = {
    /** The device's clock minus the true time, ms; then whether it has ever been wrong. */
    skewMs: 0,
    wasSkewed: false,
    /** Whether the clock has been set, and whether back: the clocks of pages may differ then. */
    wasSet: false,
    wasSetBack: false,
    /** When the device last slept, as a position in the order of everything. */
    sleptSeq: 0,
    /** Number of calls of `refresh()` that have not settled, and when the last one did. */
    asking: 0,
    askedAt: START - DAY,
    storageFaultyAt: START - DAY,
    /** When the store last lost its content. A write at that time may be lost too. */
    lostAt: START - DAY,
  };
  const isStorageSlow = () => storage.fault !== 'none' || time.nowMs < conditions.storageFaultyAt + 8_000;
  /** The device's clock is ahead, and a wrong `Date` confirms it: each set has expired on arrival. */
  const isMisled = () => setup.dateErrorMs > 0 && conditions.wasSkewed;
  const expected = createExpectedState(next, () => tabs, isStorageSlow);
  const attempts = createAttempts(setup, time, next, expected, isStorageSlow, conditions, fault);

  /** When sessions last forgot which sets had been supplied. */
  let forgottenSeq = 0;
  const tracked: Tracked[] = [];
  /** Pages rendered with a set that sessions recognise, which is no operation as long as they do. */
  const knownSets: { readonly tab: Tab; readonly ran: number; readonly root: number; readonly startSeq: number }[] = [];
  /** Refresh tokens that were exchanged and whose answer is stored, with the time. */
  const rotated = new Map<string, { readonly at: number; readonly seq: number }>();
  const texts = new Set<string>();
  let textsRead = 0;
  /** Whether the service has answered a refresh token, and no page has received the answer. */
  const isAnswerLost = (token: string): boolean =>
    networkOf().calls.some(
      ({ token: sent, said, deliveredAt, fault: why }) =>
        sent === token && (why === 'tampered' || (said && deliveredAt === undefined)),
    );
  const tabOf = (call: Call): Tab | undefined => tabs.find(({ page }) => page.owner === call.owner);
  const track = (operation: Operation, tab: Tab, isFenced = false, ran = tab.ran()) =>
    void tracked.push({ operation, tab, ran, isFenced });

  /** A page sends a refresh. */
  const onSend = (call: Call) => {
    const tab = tabOf(call);
    if (!tab) return;
    call.attempt = attempts.begin('refresh', tab, () => call.isOver);
    if (!call.sent) return fault(`tab ${tab.id} sends a refresh token that nobody issued`);
    if (!tab.granted) fault(`tab ${tab.id} sends without consent`);
    if (tab.isClosed) fault(`tab ${tab.id} sends after close()`);
    if (tab.isRefreshOff) fault(`tab ${tab.id} refreshes though another owner does`);
    const { refresh_from: dueAt } = call.sent.wire;
    if (
      !conditions.wasSkewed &&
      // A `Date` of the future makes sets due earlier, and never later.
      setup.dateErrorMs <= 0 &&
      // The model knows the last set of a refresh token. Where the store fails, an answer is lost, or a page supplies an old set again,
      // a tab may hold an earlier one with the same token.
      !(
        setup.keepsRefreshToken &&
        (tab.isAlone ||
          isStorageSlow() ||
          conditions.storageFaultyAt > START ||
          isAnswerLost(call.token) ||
          expected.operations.filter(({ root }) => root === call.sent!.root).length > 1)
      ) &&
      dueAt > time.nowMs + CLOCK_TOLERANCE_MS &&
      !conditions.asking &&
      time.nowMs > conditions.askedAt + 30_000 &&
      !expected.operations.some(({ kind }) => kind === 'optOut')
    )
      fault(`tab ${tab.id} sends a set that is due only in ${dueAt - time.nowMs} ms`);
    const before = rotated.get(call.token);
    if (!setup.keepsRefreshToken && before && time.nowMs > before.at + 2_000 && !tab.isAlone && !isStorageSlow()) {
      // After a withdrawal of consent, or a loss, a page that had to wait for consent may supply its set again.
      const isSupplied =
        forgottenSeq > before.seq ||
        expected.operations.some((operation) => operation.root === call.sent!.root && operation.startSeq > before.seq);
      if (!isSupplied) fault(`tab ${tab.id} sends a refresh token again that has been exchanged`);
    }
    return undefined;
  };

  /** A page has received an answer. */
  const onDelivered = (call: Call) => {
    const tab = tabOf(call);
    if (!tab || !call.said) return;
    if (call.said === 'optout') {
      const operation = expected.begin('optOut', tab.id, { isUncertain: true, startSeq: call.seq });
      track(operation, tab, true);
    } else if (call.said === 'ended') {
      if (call.attempt) call.attempt.isEnd = true;
    } else {
      expected.liftOptOut(call.seq);
      if (!isMisled()) attempts.noteSet(tab);
      if (tab.isAlone || isStorageSlow()) return;
      const isFenced = expected.operations.some(
        (operation) =>
          operation.startSeq > call.seq || operation.settledSeq === undefined || operation.settledSeq > call.seq,
      );
      if (!isFenced && !tab.isHalted) rotated.set(call.token, { at: time.nowMs, seq: next() });
    }
  };

  /** Check a token that a tab gives out: whose it is, whether it is valid, and whether this tab may give it out. */
  const checkToken = (tab: Tab, token: string, how: string) => {
    const issued = service.find(token);
    if (!issued) return fault(`tab ${tab.id} shows a token that nobody issued`);
    const lateMs = time.nowMs - issued.wire.identity_expires;
    const learnedMs = tab.session.state.clockOffsetMs ?? 0;
    const isClockRight = !conditions.wasSkewed || Math.abs(conditions.skewMs + learnedMs) < CLOCK_TOLERANCE_MS;
    if (isClockRight && lateMs > CLOCK_TOLERANCE_MS)
      fault(`tab ${tab.id} shows a token ${lateMs} ms after its end (${how})`);
    if (typeof tab.label === 'string' && issued.user !== tab.label)
      fault(`tab ${tab.id} of ${tab.label} shows a token of ${issued.user} (${how})`);
    const why = expected.violationOf(tab, issued.root, issued.askedSeq, setup.channel === 'works');
    if (why) fault(`tab ${tab.id} shows a token of ${issued.user}, set ${issued.root} (${how}): ${why}`);
    return undefined;
  };

  const isWritten = (token: string) => {
    for (; textsRead < storage.written.length; textsRead++)
      for (const [, text] of storage.written[textsRead]!.matchAll(/"advertisingToken":"([^"]*)"/g)) texts.add(text!);
    return texts.has(token);
  };

  const forgetKnownSets = () => {
    forgottenSeq = next();
    reviseKnownSets();
  };
  /** Sessions may forget a set before a page that was rendered with it is processed: it is an operation then. */
  const reviseKnownSets = () => {
    for (let i = knownSets.length - 1; i >= 0; i--) {
      const { tab, ran, root, startSeq } = knownSets[i]!;
      const isOver = !tab.page.isGone && tab.ran() > Math.max(ran, tab.grantedAt) + SETTLED_MS;
      if (!isOver && isKnown(root)) continue;
      knownSets.splice(i, 1);
      if (isOver) continue;
      const operation = expected.begin('set', tab.id, { root, isUncertain: true, startSeq });
      track(operation, tab, false, ran);
    }
  };
  const endOf = (root: number) => service.descendants(root)[0]!.wire.identity_expires;
  /** Whether sessions are certain to have accepted a set that ends no earlier than this one. */
  const isKnown = (root: number): boolean =>
    expected.operations.some(
      (operation) =>
        operation.kind === 'set' &&
        !operation.isUncertain &&
        operation.settledSeq !== undefined &&
        operation.startSeq > forgottenSeq &&
        endOf(operation.root!) >= endOf(root),
    );
  /** Whether sessions are certain to accept a new set that is rendered into a page: it ends later than all others. */
  const isNewest = (root: number): boolean =>
    service
      .issued()
      .every(({ wire }, i, all) =>
        i === all.length - 1 ? all[i]!.root === root : wire.identity_expires < endOf(root),
      );

  /** Settle tracked operations once enough time has passed. */
  const settleTracked = () => {
    for (let i = tracked.length - 1; i >= 0; i--) {
      const { operation, tab, ran, isFenced } = tracked[i]!;
      // What waits for consent when its tab is closed never takes effect.
      const isOver = tab.page.isGone || (tab.isClosed && tab.grantedAt === Number.POSITIVE_INFINITY);
      if (!isOver && tab.ran() < Math.max(ran, tab.grantedAt) + SETTLED_MS) continue;
      tracked.splice(i, 1);
      const isAsked =
        isFenced &&
        // A set that was rendered into a page may have been overtaken by a refresh.
        ((operation.root !== undefined && !isNewest(operation.root)) ||
          expected.operations.some(
            (other) => other !== operation && (other.settledSeq ?? next()) > operation.startSeq,
          ));
      // An opt-out answer is certain only from now on.
      const isSure = !(isOver || tab.isAlone || isStorageSlow() || isAsked);
      if (isFenced && isSure && operation.settledSeq === undefined) operation.isUncertain = false;
      expected.settle(operation, !isSure);
      if (isSure && operation.kind === 'forget' && !tracked.some((one) => one.tab === tab) && tab.hasLeftTrace())
        fault(`tab ${tab.id} has not erased what it wrote when consent was withdrawn`);
    }
  };

  /** A tab writes a record: after a loss, no change but one of a host brings an identity back. */
  const onWrite = (tab: Tab, text: string) => {
    const [, token] = /"advertisingToken":"([^"]*)"/.exec(text) ?? [];
    const root = token === undefined ? undefined : service.find(token)?.root;
    if (root !== undefined && expected.isLost(root))
      fault(`tab ${tab.id} brings set ${root} back into an erased store`);
  };

  return {
    faults,
    fault,
    conditions,
    expected,
    isStorageSlow,
    isMisled,
    onSend,
    onDelivered,
    checkToken,
    isWritten,
    forgetKnownSets,
    reviseKnownSets,
    isKnown,
    isNewest,
    onWrite,
    /** Track an operation that has no promise. */
    track,
    /** Track a page that was rendered with a set that sessions recognise. */
    trackKnownSet: (tab: Tab, root: number) => void knownSets.push({ tab, ran: tab.ran(), root, startSeq: next() }),
    attempts,
    onAbort: ({ attempt }: Call) => attempt && attempts.abort(attempt),
    /** Record that a use of the store failed: an answer that has arrived may not be stored. */
    fail: () => {
      conditions.storageFaultyAt = time.nowMs;
      rotated.clear();
    },
    /** Record that the store has lost its content, after `fromSeq`. */
    lose: (fromSeq = next()) => {
      conditions.lostAt = time.nowMs;
      expected.loseAll(fromSeq);
      attempts.allowExtra();
      attempts.noteLoss();
      forgetKnownSets();
      rotated.clear();
    },
    wrong: () => wrong,
    /** Check what no event reports. */
    check: () => {
      settleTracked();
      attempts.check();
      for (const call of networkOf().pending()) {
        const tab = tabOf(call);
        if (tab && !tab.isHalted && (!tab.granted || tab.isClosed))
          fault(`tab ${tab.id}: a request continues after the withdrawal of consent, or after close()`);
      }
    },
  };
};
export type Checker = ReturnType<typeof createChecker>;
