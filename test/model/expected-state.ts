/**
 * The expected state: whose tokens a tab may give out, derived from the operations of hosts and service alone. It must not
 * look at a session.
 *
 * An operation lasts from its call until its promise settles. Two that overlap may have taken effect in either order; two
 * in one tab only in the order of the calls. A token may be given out unless an operation that is certainly later has
 * settled and has had a second to reach the tab. An operation that may not have reached the store (a killed tab, a store
 * that failed) is uncertain: its set may be given out, but it supersedes nothing.
 *
 * A store that loses its content ends what it held, an opt-out included. No message says so: a tab notices when it reads the
 * store, at the latest when it opens or thaws.
 */

/** How long a change may take to reach another tab that can run, ms. */
export const PROPAGATION_MS = 1000;

/** The part of a tab that the expected state depends on. */
export interface TabView {
  readonly id: number;
  /** How long the page has been able to run, ms. */
  ran(): number;
  readonly isHalted: boolean;
  /** How often the page was resumed or restored. */
  readonly thaws: number;
  /** Its store is late or has failed, so it continues in memory and shares nothing with other tabs. */
  readonly isInMemory: boolean;
  /** Since when its store is late, in ms of its running time; `Infinity`: it is not. It stores what it has done since when it answers. */
  readonly lateSince: number;
}

export type OperationKind = 'set' | 'clear' | 'optOut' | 'forget' | 'loss';

export interface Operation {
  readonly kind: OperationKind;
  /** Number of the supplied set. */
  readonly root: number | undefined;
  readonly tab: number;
  startSeq: number;
  /** When it settled: it has taken effect by then, or never will. */
  settledSeq?: number;
  isUncertain: boolean;
  /** The label of the user whose record it leaves; undefined: none. */
  label: string | undefined;
  /** An answer of `provide`: any explicit operation that begins later comes after it, settled or not. */
  readonly isImplicit: boolean;
  /** Whether its page has not stored it yet, and is going to. */
  isPending?: () => boolean;
  /** The tabs that could run when it settled, with their running time and number of thaws. */
  reached?: Map<number, { readonly ran: number; readonly thaws: number }>;
  /** The storage was slow or faulty when it settled. */
  wasSlow?: boolean;
}

export const createExpectedState = (next: () => number, viewers: () => readonly TabView[], isSlow: () => boolean) => {
  const operations: Operation[] = [];
  /** When pages sent the requests whose answers accepted a user: an answer to an older question lifts no opt-out. */
  const optOutLiftedAt: number[] = [];

  /** Whether `y` certainly comes after `x`. */
  const isAfter = (y: Operation, x: Operation): boolean =>
    (y.tab === x.tab || x.isImplicit ? y.startSeq > x.startSeq : false) ||
    (x.settledSeq !== undefined && x.settledSeq < y.startSeq);

  /** Whether the effect of an operation has reached a tab. */
  const hasReached = (tab: TabView, operation: Operation, hasChannel: boolean): boolean => {
    if (operation.tab === tab.id) return true;
    if (tab.isInMemory || operation.settledSeq === undefined) return false;
    const then = operation.reached?.get(tab.id);
    const propagationMs =
      !hasChannel || operation.kind === 'loss'
        ? Number.POSITIVE_INFINITY
        : operation.wasSlow || isSlow()
          ? 8 * PROPAGATION_MS
          : PROPAGATION_MS;
    return !then || then.thaws !== tab.thaws || tab.ran() - then.ran > propagationMs;
  };

  const begin = (
    kind: OperationKind,
    tab: number,
    more: { root?: number; label?: string; isUncertain?: boolean; isImplicit?: boolean; startSeq?: number } = {},
  ) => {
    const { root, label, isUncertain = false, isImplicit = false, startSeq = next() } = more;
    const operation: Operation = { kind, root, label, tab, startSeq, isUncertain, isImplicit };
    operations.push(operation);
    return operation;
  };
  /** Record that an operation has settled; `isUncertain`: its effect on the store is unknown. */
  const settle = (operation: Operation, isUncertain = false) => {
    if (operation.settledSeq !== undefined) return;
    operation.settledSeq = next();
    operation.isUncertain ||= isUncertain;
    operation.wasSlow = isSlow();
    const by = viewers().find(({ id }) => id === operation.tab);
    const ran = by?.ran() ?? 0;
    if (by) operation.isPending = () => viewers().includes(by) && by.lateSince <= ran;
    operation.reached = new Map();
    for (const tab of viewers()) if (!tab.isHalted) operation.reached.set(tab.id, { ran: tab.ran(), thaws: tab.thaws });
  };

  return {
    operations,
    begin,
    settle,
    liftOptOut: (askedSeq: number) => void optOutLiftedAt.push(askedSeq),
    /** Record that the store has lost its content, after `fromSeq`: what has been done since then may be lost or not. */
    loseAll: (fromSeq: number) => {
      const loss = begin('loss', -1);
      settle(loss);
      for (const operation of operations) {
        if (operation === loss) continue;
        operation.isUncertain ||= (operation.settledSeq ?? fromSeq) >= fromSeq;
        // What is on its way to the store is stored after the loss.
        if (operation.isPending?.()) operation.startSeq = operation.settledSeq = next();
      }
    },
    /** Whether nothing can have put a set into the store since it last lost its content. */
    isLost: (root: number): boolean => {
      const loss = operations.findLast(({ kind }) => kind === 'loss');
      return (
        !!loss &&
        operations.every(
          (x) => x.kind !== 'set' || x.root !== root || (x.settledSeq !== undefined && x.settledSeq < loss.startSeq),
        )
      );
    },
    /**
     * Check a token that a tab gives out.
     *
     * @param root       the supplied set that it descends from.
     * @param askedSeq   if it came by a refresh: when that was sent.
     * @param hasChannel whether tabs can send messages to each other.
     * @returns what is wrong, or undefined.
     */
    violationOf: (
      tab: TabView,
      root: number,
      askedSeq: number | undefined,
      hasChannel: boolean,
    ): string | undefined => {
      const supplies = operations.filter((operation) => operation.kind === 'set' && operation.root === root);
      if (!supplies.length) return 'a set that nobody supplied';
      let why = '';
      for (const x of supplies) {
        let superseding: Operation | undefined;
        for (const y of operations) {
          if (y.isUncertain || y === x || !isAfter(y, x)) continue;
          // Operations of the tab itself count at once, those of others once they have settled and had time to arrive.
          if (hasReached(tab, y, hasChannel)) superseding = y;
          if (superseding) break;
        }
        if (!superseding) {
          const tombstone = operations.find(
            (o) =>
              o.kind === 'optOut' &&
              !o.isUncertain &&
              o.settledSeq !== undefined &&
              o.settledSeq < x.startSeq &&
              // A tab that does not know of the opt-out finds it in the store when it writes its own operation.
              (hasReached(tab, o, hasChannel) || (!tab.isInMemory && x.settledSeq !== undefined)) &&
              !optOutLiftedAt.some((at) => at > o.startSeq) &&
              !operations.some(({ kind, startSeq }) => kind === 'loss' && startSeq > o.startSeq),
          );
          if (!tombstone || (askedSeq ?? 0) > tombstone.startSeq) return undefined;
          why = 'a set that was supplied after an opt-out, before the service has let the user back in';
        } else
          why ||= `a set that was superseded by ${superseding.kind}${superseding.root === undefined ? '' : ` of set ${superseding.root}`} in tab ${superseding.tab}`;
      }
      return why;
    },
    /** Whether there may be an operation after `seq` that a tab does not know of. */
    hasUnseen: (tab: TabView, seq: number, hasChannel: boolean): boolean =>
      operations.some(
        (operation) =>
          (operation.settledSeq === undefined || operation.settledSeq > seq) && !hasReached(tab, operation, hasChannel),
      ),
    /** The operations that may be in force. */
    inForce: (): Operation[] =>
      operations.filter(
        (x) => !operations.some((y) => y !== x && !y.isUncertain && y.settledSeq !== undefined && isAfter(y, x)),
      ),
    isAfter,
  };
};
export type ExpectedState = ReturnType<typeof createExpectedState>;
