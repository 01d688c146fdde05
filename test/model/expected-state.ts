/**
 * What must be so, whatever the session does: whose tokens a tab may show, told from the acts of hosts and service alone.
 *
 * Acts take time: from the call to the settling of its promise. Two that overlap may have come about in either order, two in
 * one tab only in the order of the calls. A set may be shown unless an act that surely came after it has settled, and has
 * had a second to reach the tab. An act that may have failed to reach the store (a killed tab, a store that failed) is
 * weak: what it brings may be shown, but it outdoes nothing.
 */

/** How long news may take to reach a tab that runs, ms. */
export const PROPAGATION_MS = 1000;

/** The part of a tab that the truth looks at. */
export interface TabView {
  readonly id: number;
  /** For how long it has been able to run, ms. */
  ran(): number;
  readonly isHalted: boolean;
  /** How often it was thawed. */
  readonly thaws: number;
  /** Its store has failed it: it is on its own. */
  readonly isInMemory: boolean;
}

export type OperationKind = 'set' | 'clear' | 'optout' | 'forget';

export interface Operation {
  readonly kind: OperationKind;
  /** Which supplied set. */
  readonly root: number | undefined;
  readonly tab: number;
  readonly startSeq: number;
  /** By when it has come about, or never will. */
  settledSeq?: number;
  isUncertain: boolean;
  /** Any explicit act that begins later comes after it, settled or not: an answer of `provide`. */
  readonly isImplicit: boolean;
  /** Tabs that could run when it settled: for how long they had run, and how often they had been thawed. */
  reached?: Map<number, { readonly ran: number; readonly thaws: number }>;
  /** The disk was out of order when it settled. */
  wasSlow?: boolean;
}

export const createExpectedState = (next: () => number, viewers: () => readonly TabView[], isSlow: () => boolean) => {
  const operations: Operation[] = [];
  /** Answers that let a user back in, by when they came. */
  const optOutLiftedAt: number[] = [];
  /** When the store last lost what it knew. */
  let lostSeq = 0;

  /** Whether `y` surely comes after `x`. */
  const isAfter = (y: Operation, x: Operation): boolean =>
    (y.tab === x.tab || x.isImplicit ? y.startSeq > x.startSeq : false) ||
    (x.settledSeq !== undefined && x.settledSeq < y.startSeq);

  /** What a settled act has brought about elsewhere has reached a tab. */
  const hasReached = (tab: TabView, operation: Operation, hasChannel: boolean): boolean => {
    if (operation.tab === tab.id) return true;
    if (tab.isInMemory || operation.settledSeq === undefined) return false;
    const then = operation.reached?.get(tab.id);
    const propagationMs = !hasChannel
      ? Number.POSITIVE_INFINITY
      : operation.wasSlow || isSlow()
        ? 8 * PROPAGATION_MS
        : PROPAGATION_MS;
    return !then || then.thaws !== tab.thaws || tab.ran() - then.ran > propagationMs;
  };

  return {
    operations,
    begin: (
      kind: OperationKind,
      tab: number,
      more: { root?: number; isUncertain?: boolean; isImplicit?: boolean; startSeq?: number } = {},
    ) => {
      const { root, isUncertain = false, isImplicit = false, startSeq = next() } = more;
      const operation: Operation = { kind, root, tab, startSeq, isUncertain, isImplicit };
      operations.push(operation);
      return operation;
    },
    /** An act has settled; `isWeak`: nobody knows how. */
    settle: (operation: Operation, isUncertain = false) => {
      if (operation.settledSeq !== undefined) return;
      operation.settledSeq = next();
      operation.isUncertain ||= isUncertain;
      operation.wasSlow = isSlow();
      operation.reached = new Map();
      for (const tab of viewers())
        if (!tab.isHalted) operation.reached.set(tab.id, { ran: tab.ran(), thaws: tab.thaws });
    },
    liftOptOut: () => void optOutLiftedAt.push(next()),
    /** The store has lost what it knew: what was outdone may be shown again, where somebody still holds it. */
    loseAll: () => {
      for (const operation of operations) operation.isUncertain = true;
      lostSeq = next();
    },
    /** What is in force is known to the store: it has lost nothing since, or somebody has acted. */
    isStored: () => operations.some((operation) => !operation.isUncertain && operation.startSeq > lostSeq) || !lostSeq,
    /**
     * Judge a token that a tab shows.
     *
     * @param root       the supplied set that it descends from.
     * @param refreshed  it came by a refresh.
     * @param hasNews    tabs can tell one another.
     * @returns what is wrong; undefined where nothing is.
     */
    violationOf: (tab: TabView, root: number, refreshed: boolean, hasChannel: boolean): string | undefined => {
      const supplies = operations.filter((operation) => operation.kind === 'set' && operation.root === root);
      if (!supplies.length) return 'a set that nobody supplied';
      let why = '';
      for (const x of supplies) {
        let superseding: Operation | undefined;
        for (const y of operations) {
          if (y.isUncertain || y === x || !isAfter(y, x)) continue;
          // Its own acts count at once, those of others when they have settled and have had time to get here.
          if (hasReached(tab, y, hasChannel)) superseding = y;
          if (superseding) break;
        }
        if (!superseding) {
          const tombstone = operations.find(
            (o) =>
              o.kind === 'optout' &&
              !o.isUncertain &&
              o.settledSeq !== undefined &&
              o.settledSeq < x.startSeq &&
              // A tab that has not heard of it finds it when its own act is written.
              (hasReached(tab, o, hasChannel) || (!tab.isInMemory && x.settledSeq !== undefined)) &&
              !optOutLiftedAt.some((at) => at > o.startSeq),
          );
          if (!tombstone || refreshed) return undefined;
          why = 'a set that was supplied after an opt-out, before the service has let the user back in';
        } else
          why ||= `a set that was superseding by ${superseding.kind}${superseding.root === undefined ? '' : ` of set ${superseding.root}`} in tab ${superseding.tab}`;
      }
      return why;
    },
    /** Somebody has acted since `seq`, and a tab may not have heard of it. */
    hasUnseen: (tab: TabView, seq: number, hasChannel: boolean): boolean =>
      operations.some(
        (operation) =>
          (operation.settledSeq === undefined || operation.settledSeq > seq) && !hasReached(tab, operation, hasChannel),
      ),
    /** The acts that may be in force. */
    inForce: (): Operation[] =>
      operations.filter(
        (x) => !operations.some((y) => y !== x && !y.isUncertain && y.settledSeq !== undefined && isAfter(y, x)),
      ),
    isAfter,
  };
};
export type ExpectedState = ReturnType<typeof createExpectedState>;
