/**
 * What must be so, whatever the session does: whose tokens a tab may show, told from the acts of hosts and service alone.
 *
 * Acts take time: from the call to the settling of its promise. Two that overlap may have come about in either order, two in
 * one tab only in the order of the calls. A set may be shown unless an act that surely came after it has settled, and has
 * had a second to reach the tab. An act that may have failed to reach the store (a killed tab, a store that failed) is
 * weak: what it brings may be shown, but it outdoes nothing.
 */

/** How long news may take to reach a tab that runs, ms. */
export const REACH_MS = 1000;

/** The part of a tab that the truth looks at. */
export interface Viewer {
  readonly id: number;
  /** For how long it has been able to run, ms. */
  ran(): number;
  readonly isHalted: boolean;
  /** How often it was thawed. */
  readonly thaws: number;
  /** Its store has failed it: it is on its own. */
  readonly isAlone: boolean;
}

export type ActKind = 'set' | 'clear' | 'optout' | 'forget';

export interface Act {
  readonly kind: ActKind;
  /** Which supplied set. */
  readonly root: number | undefined;
  readonly tab: number;
  readonly startSeq: number;
  /** By when it has come about, or never will. */
  settledSeq?: number;
  isWeak: boolean;
  /** Any explicit act that begins later comes after it, settled or not: an answer of `provide`. */
  readonly isImplicit: boolean;
  /** Tabs that could run when it settled: for how long they had run, and how often they had been thawed. */
  reached?: Map<number, { readonly ran: number; readonly thaws: number }>;
  /** The disk was out of order when it settled. */
  wasSlow?: boolean;
}

export const createTruth = (next: () => number, viewers: () => readonly Viewer[], isSlow: () => boolean) => {
  const acts: Act[] = [];
  /** Answers that let a user back in, by when they came. */
  const lifts: number[] = [];
  /** When the store last lost what it knew. */
  let lostSeq = 0;

  /** Whether `y` surely comes after `x`. */
  const isAfter = (y: Act, x: Act): boolean =>
    (y.tab === x.tab || x.isImplicit ? y.startSeq > x.startSeq : false) ||
    (x.settledSeq !== undefined && x.settledSeq < y.startSeq);

  /** What a settled act has brought about elsewhere has reached a tab. */
  const hasReached = (tab: Viewer, act: Act, hasNews: boolean): boolean => {
    if (act.tab === tab.id) return true;
    if (tab.isAlone || act.settledSeq === undefined) return false;
    const then = act.reached?.get(tab.id);
    const reachMs = !hasNews ? Number.POSITIVE_INFINITY : act.wasSlow || isSlow() ? 8 * REACH_MS : REACH_MS;
    return !then || then.thaws !== tab.thaws || tab.ran() - then.ran > reachMs;
  };

  return {
    acts,
    begin: (
      kind: ActKind,
      tab: number,
      more: { root?: number; isWeak?: boolean; isImplicit?: boolean; startSeq?: number } = {},
    ) => {
      const { root, isWeak = false, isImplicit = false, startSeq = next() } = more;
      const act: Act = { kind, root, tab, startSeq, isWeak, isImplicit };
      acts.push(act);
      return act;
    },
    /** An act has settled; `isWeak`: nobody knows how. */
    settle: (act: Act, isWeak = false) => {
      if (act.settledSeq !== undefined) return;
      act.settledSeq = next();
      act.isWeak ||= isWeak;
      act.wasSlow = isSlow();
      act.reached = new Map();
      for (const tab of viewers()) if (!tab.isHalted) act.reached.set(tab.id, { ran: tab.ran(), thaws: tab.thaws });
    },
    lift: () => void lifts.push(next()),
    /** The store has lost what it knew: what was outdone may be shown again, where somebody still holds it. */
    forgetAll: () => {
      for (const act of acts) act.isWeak = true;
      lostSeq = next();
    },
    /** What is in force is known to the store: it has lost nothing since, or somebody has acted. */
    isStored: () => acts.some((act) => !act.isWeak && act.startSeq > lostSeq) || !lostSeq,
    /**
     * Judge a token that a tab shows.
     *
     * @param root       the supplied set that it descends from.
     * @param refreshed  it came by a refresh.
     * @param hasNews    tabs can tell one another.
     * @returns what is wrong; undefined where nothing is.
     */
    judge: (tab: Viewer, root: number, refreshed: boolean, hasNews: boolean): string | undefined => {
      const brought = acts.filter((act) => act.kind === 'set' && act.root === root);
      if (!brought.length) return 'a set that nobody supplied';
      let why = '';
      for (const x of brought) {
        let outdone: Act | undefined;
        for (const y of acts) {
          if (y.isWeak || y === x || !isAfter(y, x)) continue;
          // Its own acts count at once, those of others when they have settled and have had time to get here.
          if (hasReached(tab, y, hasNews)) outdone = y;
          if (outdone) break;
        }
        if (!outdone) {
          const stone = acts.find(
            (o) =>
              o.kind === 'optout' &&
              !o.isWeak &&
              o.settledSeq !== undefined &&
              o.settledSeq < x.startSeq &&
              // A tab that has not heard of it finds it when its own act is written.
              (hasReached(tab, o, hasNews) || (!tab.isAlone && x.settledSeq !== undefined)) &&
              !lifts.some((at) => at > o.startSeq),
          );
          if (!stone || refreshed) return undefined;
          why = 'a set that was supplied after an opt-out, before the service has let the user back in';
        } else
          why ||= `a set that was outdone by ${outdone.kind}${outdone.root === undefined ? '' : ` of set ${outdone.root}`} in tab ${outdone.tab}`;
      }
      return why;
    },
    /** Somebody has acted since `seq`, and a tab may not have heard of it. */
    isNews: (tab: Viewer, seq: number, hasNews: boolean): boolean =>
      acts.some((act) => (act.settledSeq === undefined || act.settledSeq > seq) && !hasReached(tab, act, hasNews)),
    /** The acts that may be in force. */
    inForce: (): Act[] =>
      acts.filter((x) => !acts.some((y) => y !== x && !y.isWeak && y.settledSeq !== undefined && isAfter(y, x))),
    isAfter,
  };
};
export type Truth = ReturnType<typeof createTruth>;
