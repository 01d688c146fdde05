/**
 * The checker of attempts: refresh requests and calls of `provide` of all tabs together. One at a time, because both need the
 * lease in the record; after failures only after a pause, which they share; and never in a loop.
 *
 * It observes sessions from outside, and reads what they say of themselves in `state.next`.
 */

import type { NextStep } from '../../src/session/index.ts';
import type { ExpectedState } from './expected-state.ts';
import type { Setup } from './invariants.ts';
import type { Tab } from './tab.ts';
import { MINUTE, type Time } from './time.ts';

/** Attempts that all tabs together may make in half an hour in which none can succeed. */
const OUTAGE_BUDGET = 15;
const OUTAGE_WINDOW_MS = 30 * MINUTE;
/** More new sets than this within the window are a loop, and so are more attempts. */
const LOOP_SETS = 3;
const LOOP_ATTEMPTS = 12;
const LOOP_WINDOW_MS = 5 * MINUTE;
/** The pause after a failure, by the defaults of the session, ms. */
const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 300_000;
/** The part of a pause that is not drawn at random. */
const LEAST_PART = 3 / 4;
/** Other tabs wait 12 s for an attempt from the lease, which is taken before the request, ms. */
const LEASE_MS = 11_900;

export type AttemptKind = 'refresh' | 'provide';

export interface Attempt {
  readonly kind: AttemptKind;
  readonly tab: Tab;
  /** By the true time, epoch ms. */
  readonly at: number;
  /** Position in the order of everything that happens in a profile. */
  readonly seq: number;
  /** Whose retry state it counts for: a tab's, or -1 for the tabs that share a store. */
  readonly owner: number;
  /** Whether the page has the answer, has given up, or is gone. */
  readonly isOver: () => boolean;
  /** Whether the page gave it up before its time limit: it was left or closed, or the set was replaced. */
  isGivenBack: boolean;
  /** Whether its store has only pretended to take the lease. Nor does it keep the count of failures: the pause does not grow. */
  readonly isPretended: boolean;
  /** Whether the service has said that the refresh token has ended: `provide` may be asked at once. */
  isEnd: boolean;
  /** Whether it is such a call of `provide`, which is not counted apart. */
  readonly isSequel: boolean;
}

export const createAttempts = (
  setup: Setup,
  time: Time,
  next: () => number,
  expected: ExpectedState,
  isStorageSlow: () => boolean,
  conditions: {
    readonly wasSet: boolean;
    readonly wasSetBack: boolean;
    readonly sleptSeq: number;
  },
  fault: (what: string) => void,
) => {
  const attempts: Attempt[] = [];
  /** New sets that pages received. */
  const fetched: { readonly at: number; readonly owner: number }[] = [];
  /** When something happened that may cause attempts beyond the budget: operations, faults of storage, pages that end. */
  const extraAt: number[] = [];
  /** Since when no attempt of a kind can succeed. */
  const failingSince: { [kind in AttemptKind]?: number | undefined } = {};
  /** The last lease, and the page that took it. `isHeld`: the record still has it. */
  let lease: { readonly id: string; readonly at: number; readonly page?: Tab['page']; isHeld?: boolean } = {
    id: '',
    at: 0,
  };
  /** Leases that have run out, and were taken over by a tab: each counts as a failure. */
  const expired: { readonly seq: number; readonly tab: Tab }[] = [];
  /** When the retry state was last reset for certain. */
  let resetSeq = 0;
  const isRecent = (at: number) => at > time.nowMs - LOOP_WINDOW_MS;
  // Where the clocks of pages differ, they do not share pauses: what is in the future does not count.
  const ownerOf = (tab: Tab) => (tab.isAlone || conditions.wasSetBack ? tab.id : -1);

  /** Whether the lease in the record keeps a tab from an attempt while another one is in flight. */
  const isKeptBy = (other: Attempt, tab: Tab): boolean =>
    time.nowMs < other.at + LEASE_MS &&
    // Both can run, and share a store that answers.
    !other.tab.isHalted &&
    !other.tab.page.areTimersStopped &&
    !other.tab.isAlone &&
    !tab.isAlone &&
    !isStorageSlow() &&
    // A lease depends on a common clock, and ends while the device sleeps. A Web Lock only proves that the tab of a lease is gone.
    !conditions.wasSet &&
    other.seq > conditions.sleptSeq &&
    // It ends with any operation, also one that the other tab does not know of yet.
    !expected.hasUnseen(other.tab, other.seq, setup.channel === 'works');

  return {
    /** A page makes an attempt. */
    begin: (kind: AttemptKind, tab: Tab, isOver: () => boolean): Attempt => {
      const inFlight = attempts.filter((other) => !other.isOver() && !other.tab.page.isGone);
      for (const other of inFlight)
        if (other.tab === tab || isKeptBy(other, tab))
          fault(`tab ${tab.id}: ${kind} while ${other.kind} of tab ${other.tab.id} is in flight`);
      const attempt = {
        kind,
        tab,
        at: time.nowMs,
        seq: next(),
        owner: ownerOf(tab),
        isOver,
        isGivenBack: false,
        isPretended: tab.isLying,
        isEnd: false,
        isSequel: kind === 'provide' && !!attempts.findLast(({ owner }) => owner === ownerOf(tab))?.isEnd,
      };
      attempts.push(attempt);
      const { owner, isPretended } = attempt;
      const alike = attempts.filter(
        (one) => one.owner === owner && one.isPretended === isPretended && !one.isSequel && isRecent(one.at),
      );
      const most = isPretended ? LOOP_WINDOW_MS / (FIRST_PAUSE_MS * LEAST_PART) : LOOP_ATTEMPTS;
      if (alike.length > most + 4 * extraAt.filter(isRecent).length)
        fault(`${alike.length} attempts within five minutes`);
      return attempt;
    },
    areInFlight: () => attempts.some(({ isOver, tab }) => !isOver() && !tab.page.isGone),
    /** A tab writes a record. */
    noteLease: (text: string, tab: Tab) => {
      const [, id] = /"lease":{"id":([^,]*)/.exec(text) ?? [];
      if (id && id !== lease.id) {
        // A Web Lock shows that a page has given its attempt up, or is gone: that does not count.
        const isAsking = attempts.some((one) => one.tab.page === lease.page && !one.isOver() && !one.tab.page.isGone);
        if (lease.isHeld && (setup.locks !== 'works' || isAsking)) expired.push({ seq: next(), tab });
        lease = { id, at: time.nowMs, page: tab.page };
      }
      lease.isHeld = !!id;
    },
    /** The store has lost its content. */
    noteLoss: () => {
      lease.isHeld = false;
    },
    /** The page has aborted an attempt that is not over. */
    abort: (attempt: Attempt) => {
      attempt.isGivenBack = time.nowMs < attempt.at + attempt.tab.timeoutMs;
    },
    /** A page has received a new set, which is not expired as far as the page can know. */
    noteSet: (tab: Tab) => {
      const owner = ownerOf(tab);
      fetched.push({ at: time.nowMs, owner });
      const recent = fetched.filter((one) => one.owner === owner && isRecent(one.at));
      if (recent.length > LOOP_SETS + extraAt.filter(isRecent).length)
        fault(`${recent.length} sets fetched within five minutes`);
    },
    /** A tab has brought a fresh token: the retry state has been reset. */
    noteReset: (tab: Tab) => {
      if (!tab.isAlone) resetSeq = next();
    },
    /** A tab has said what it does next. */
    onNext: (tab: Tab, { at, reason }: NextStep, startedAt: number, readAt: number) => {
      if (tab.isAlone || isStorageSlow() || conditions.wasSet || at === undefined) return;
      const { page, at: takenAt } = lease;
      // A page asks for the Web Lock of the lease that it has read before its attempt.
      const isGone = page && page.goneAt < startedAt && takenAt < readAt;
      if (reason === 'other_tab' && setup.locks === 'works' && isGone)
        fault(`tab ${tab.id} waits for a page that is gone`);
      if (reason === 'back_off') {
        // Without a channel, a tab may not know that another one has reset it.
        const since = setup.channel === 'works' ? resetSeq : 0;
        // A page goes on counting while another one has reset the count without a set.
        const failures = [...attempts.filter(({ isGivenBack }) => !isGivenBack), ...expired];
        const made = failures.filter(({ seq, tab: of }) => seq > since || of === tab).length;
        const longestMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (made - 1));
        if (at > time.nowMs + longestMs)
          fault(`tab ${tab.id} waits for ${Math.round(at - time.nowMs)} ms after ${made} attempts`);
      }
    },
    /** Allow attempts beyond the budget: an operation, a fault of storage, or a page that ends may cause some. */
    allowExtra: () => {
      extraAt.push(time.nowMs);
    },
    /** Attempts of a kind cannot succeed from now on, or can again. */
    setFailing: (kind: AttemptKind, isFailing: boolean) => {
      failingSince[kind] = isFailing ? (failingSince[kind] ?? time.nowMs) : undefined;
    },
    /** Check the budget of each kind, and of both together. */
    check: () => {
      for (const kinds of [['refresh'], ['provide'], ['refresh', 'provide']] as const) {
        const since = Math.max(...kinds.map((kind) => failingSince[kind] ?? Number.POSITIVE_INFINITY));
        const from = Math.max(since + 15_000, time.nowMs - OUTAGE_WINDOW_MS);
        const excused = extraAt.filter((at) => at > from - MINUTE).length;
        const made = new Map<number, number>();
        // What is given back is no failure. It takes a page that is left, or an operation.
        for (const { at, owner, kind, isGivenBack, isPretended } of attempts)
          if (at > from && !isGivenBack && !isPretended && (kinds as readonly AttemptKind[]).includes(kind))
            made.set(owner, (made.get(owner) ?? 0) + 1);
        for (const [owner, calls] of made)
          if (calls > OUTAGE_BUDGET + 4 * excused)
            fault(
              `${calls} attempts in half an hour of outage (${kinds.join(' and ')}, ${excused} excused${owner < 0 ? '' : `, of tab ${owner} alone`})`,
            );
      }
    },
  };
};
export type Attempts = ReturnType<typeof createAttempts>;
