/** What a page reports of one page view, and every value that it may contain: the page builds it, a server reads it. */

/** The values of each member of a report that is a text. `page/vitals.ts` does not compile if the session has one more. */
export const VITALS_VALUES = {
  integration: ['script', 'npm', 'webview', 'uid2'],
  navigation: ['navigate', 'reload', 'back_forward', 'prerender', 'back_forward_cache'],
  cause: ['set', 'provide', 'refresh', 'tab', 'load'],
  phase: ['empty', 'fresh', 'due', 'stale', 'ended', 'optedOut'],
  waitingFor: ['consent', 'storage', 'provide', 'refresh'],
  persistence: ['indexeddb', 'memory', 'custom'],
  lastError: [
    'invalid_token_set',
    'network',
    'timeout',
    'http_status',
    'malformed_response',
    'decrypt_failed',
    'refresh_rejected',
    'opted_out',
    'no_token',
    'no_consent',
    'storage_failed',
    'provide_failed',
    'closed',
    'client_error',
    'unauthorized',
    'rate_limited',
    'clock_skew',
    'nonce_mismatch',
  ],
  nextReason: [
    'refresh_from',
    'expires',
    'in_progress',
    'other_tab',
    'back_off',
    'retry_after',
    'refused',
    'woken',
    'hidden',
    'consent',
    'storage',
    'host',
  ],
} as const;

/** A text of a report. */
export type VitalsValue<Name extends keyof typeof VITALS_VALUES> = (typeof VITALS_VALUES)[Name][number];

/** What is reported without consent, if the page asks for it. */
export interface VitalsCounts {
  /** Of the form of the report. */
  readonly version: 1;
  /** At the end of the page view, as in `session.state`. */
  readonly phase: VitalsValue<'phase'>;
  /** What the session waited for before it could return a token; absent if it had one, or waited for nothing. */
  readonly waitingFor?: VitalsValue<'waitingFor'> | undefined;
}

/** One page view. No member contains a token, a label, a URL or an identifier. */
export interface VitalsReport extends VitalsCounts {
  /** How the page uses the session: the script tag, an import, in an app's webview, the drop-in. */
  readonly integration: VitalsValue<'integration'>;
  /** How the page view began; `back_forward_cache`: the page was restored, which is a page view of its own. */
  readonly navigation: VitalsValue<'navigation'>;
  /**
   * From the start of the page view to its first token, whole ms. Absent if there was none. If it was there before `onVitals` was
   * called: to that call.
   */
  readonly tokenMs?: number | undefined;
  /** Where that token came from: as `cause` of the event `token`. Absent if it was there before `onVitals` was called. */
  readonly cause?: VitalsValue<'cause'> | undefined;
  /** Whether there was a token at the first `mark('auction')`; absent without a mark. */
  readonly auctionHadToken?: boolean | undefined;
  readonly persistence: VitalsValue<'persistence'>;
  /** How long memory stood in for a store that was late, whole ms; absent if it was not late, or has failed. */
  readonly lateStoreMs?: number | undefined;
  /** Of this page, not of other tabs: calls of `provide`, refreshes, and how many of both have failed. */
  readonly calls: { readonly provide: number; readonly refresh: number; readonly failed: number };
  /** The code of the last failure, if the session has not recovered from it. */
  readonly lastError?: VitalsValue<'lastError'> | undefined;
  /** As `state.next.reason`: what decides when something happens next. */
  readonly nextReason?: VitalsValue<'nextReason'> | undefined;
}
