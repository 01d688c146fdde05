/**
 * The entry `tessera-id/vitals`: one report for each page view of whether there was a token, when, and why not. The page sends it.
 *
 * It reads what every page may read of a session, and keeps no token.
 */

import type { Cause, NextStep, Session, SessionState } from '../session/index.ts';
import type { VitalsCounts, VitalsReport } from '../token/vitals-report.ts';
import { checkAdapterOptions, checkSession } from './adapter-options.ts';

export type { VitalsCounts, VitalsReport, VitalsValue } from '../token/vitals-report.ts';

/** Says that a token is needed now. */
export type Mark = (moment: 'auction') => void;

/** Options of `onVitals`. */
export interface VitalsOptions {
  /** Receives the function `mark`, for example to pass it to `connectPrebid`. The first `mark('auction')` of a page view counts. */
  mark?: ((mark: Mark) => unknown) | undefined;
  /** `counts`: without consent, report {@link VitalsCounts}. Default: without consent, report nothing. */
  withoutConsent?: 'counts' | undefined;
}

/** Without `withoutConsent`, every report is whole. */
export type ReportWith<Options extends VitalsOptions> = Options extends { withoutConsent: 'counts' }
  ? VitalsReport | VitalsCounts
  : VitalsReport;

const OPTIONS = { mark: 'function', withoutConsent: ['counts'] } as const;

/** How a page view began, and when: ms by the clock of `performance.now`. */
interface Start {
  readonly navigation: VitalsReport['navigation'];
  readonly startedAt: number;
}

/** A page that is rendered in advance begins when it is shown, which may be later than this call. */
function startOfPage(): Start {
  type Entry = PerformanceNavigationTiming & { readonly activationStart?: number };
  const [entry] = (performance.getEntriesByType?.('navigation') ?? []) as Entry[];
  const startedAt = entry?.activationStart || 0;
  return { navigation: startedAt ? 'prerender' : (entry?.type ?? 'navigate'), startedAt };
}

function integrationOf(session: Session, hasApp: boolean): VitalsReport['integration'] {
  type Owner = { readonly session?: unknown } | undefined;
  const page = window as { tessera?: Owner; __uid2?: Owner; __euid?: Owner };
  const isOf = (name: keyof typeof page) => page[name]?.session === session;
  return hasApp ? 'webview' : isOf('tessera') ? 'script' : isOf('__uid2') || isOf('__euid') ? 'uid2' : 'npm';
}

/** Returns a function that takes each state, and returns what it has counted so far. */
function createSums(first: SessionState) {
  const calls = { provide: 0, refresh: 0, failed: 0 };
  let lastError: SessionState['lastError'];
  /** The attempt in progress. */
  let attempt: NextStep | false | undefined;
  /** Since when memory stands in for a late store. */
  let lateSince: number | undefined;
  /** NaN once the store has failed. */
  let lateMs = 0;
  return ({ next, lastError: error, persistence }: SessionState, at: number) => {
    // One that ends because another tab has begun has made no request.
    if (attempt && next?.at !== attempt.at && next?.reason !== 'other_tab') {
      calls[attempt.action as 'provide' | 'refresh']++;
      if (error && error !== lastError) calls.failed++;
    }
    attempt = next?.reason === 'in_progress' && !!next.at && next;
    lastError = error;
    if (lateSince) lateMs += at - lateSince;
    if (error?.code === 'storage_failed') lateMs = NaN;
    // Memory from the start is no sign of a late store: this browser has none.
    lateSince = persistence === 'memory' && first.persistence !== persistence ? at : undefined;
    return { calls, lateStoreMs: Math.round(lateMs) || undefined };
  };
}

/** What was seen of a session in one page view. */
function createView(session: Session, start: () => Start) {
  const sumsUntil = createSums(session.state);
  const hadToken = !!session.advertisingToken;
  let tokenAt: number | undefined;
  /** Of the first token. Its event follows the state that has it; a restored page has none. */
  let cause: Cause | undefined;
  let seen: { state: SessionState; at: number }[] = [];
  let auctionHadToken: boolean | undefined;

  const view = {
    mark(): void {
      auctionHadToken ??= !!session.advertisingToken;
    },
    noteCause: (of: Cause): void => void (cause ??= of),
    /** The session has another state, or another token. */
    noteState(): void {
      const { state, advertisingToken } = session;
      const at = performance.now();
      if (advertisingToken) tokenAt ??= at;
      sumsUntil(state, at);
      // More than can follow one another between an event and the listeners here.
      seen = [...seen.slice(-7), { state, at }];
    },
    /** @param end  when the page view ended: what a session does because a page ends is not reported. */
    reportAt(end: number, hasApp: boolean): VitalsReport {
      const { state } = seen.filter(({ at }) => at < end).pop() ?? seen[0]!;
      const { phase, waitingFor, persistence, lastError: error, next } = state;
      const { navigation, startedAt } = start();
      return {
        version: 1,
        integration: integrationOf(session, hasApp),
        navigation,
        // A stored one may be there before the page is shown.
        ...(tokenAt !== undefined && {
          tokenMs: Math.max(0, Math.round(tokenAt - startedAt)),
          cause: hadToken ? undefined : (cause ?? 'load'),
        }),
        auctionHadToken,
        phase,
        waitingFor,
        persistence: persistence === 'indexeddb' || persistence === 'memory' ? persistence : 'custom',
        // A call that is in progress has been made, too.
        ...sumsUntil({ ...session.state, next: undefined }, end),
        lastError: error?.code,
        nextReason: next?.reason,
      };
    },
  };
  // There may be a token, or a call in progress.
  view.noteState();
  return view;
}

/**
 * Report each page view once, when the page is hidden for the first time, or left. A page that comes back from the back/forward cache
 * begins a new page view. Without consent, nothing is reported, or what `withoutConsent` says. On a server, this does nothing.
 *
 * Call it once, where the session is created: of a token that is there before, the cause is unknown, and `tokenMs` ends with this call.
 *
 * @param report  sends it: by `navigator.sendBeacon`, because the page may end. What it throws is reported as by an EventTarget.
 * @example onVitals(session, (report) => navigator.sendBeacon('/vitals', JSON.stringify(report)));
 */
export function onVitals<Options extends VitalsOptions>(
  session: Session,
  report: (report: ReportWith<Options>) => unknown,
  options = {} as Options,
): void {
  if (typeof __TESSERA_PRODUCTION__ === 'undefined') checkAdapterOptions('onVitals', OPTIONS, options);
  if (typeof window === 'undefined') return;
  if (typeof __TESSERA_PRODUCTION__ === 'undefined') checkSession('onVitals', session);
  const { mark, withoutConsent } = { __proto__: null, ...options } as VitalsOptions;
  let view = createView(session, startOfPage);
  let hasApp = false;
  let isReported: boolean | undefined;

  const onEnd = ({ type, timeStamp }: Event) => {
    if (isReported || (type !== 'pagehide' && document.visibilityState !== 'hidden')) return;
    isReported = true;
    const full = view.reportAt(timeStamp, hasApp);
    const { version, phase, waitingFor } = full;
    const isGranted = waitingFor !== 'consent';
    if (isGranted || withoutConsent === 'counts')
      (async () => report((isGranted ? full : { version, phase, waitingFor }) as ReportWith<Options>))().catch(
        globalThis.reportError,
      );
  };
  const listen = (event: string, listener: (event: Event) => void) => addEventListener(event, listener, true);
  listen('visibilitychange', onEnd);
  listen('pagehide', onEnd);
  listen('pageshow', (event) => {
    if (!(event as PageTransitionEvent).persisted) return;
    isReported = false;
    view = createView(session, () => ({ navigation: 'back_forward_cache', startedAt: event.timeStamp }));
  });
  // The channel of `connectWebview` says that there is an app.
  listen('tessera:message', () => {
    hasApp = true;
  });
  session.on('token', ({ cause }) => view.noteCause(cause));
  session.subscribe(() => view.noteState());
  mark?.(() => view.mark());
}
