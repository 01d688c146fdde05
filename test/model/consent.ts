/**
 * The consent tool of a tab's host: absent, or one that gives consent at once, later or never, withdraws it and gives it
 * again. It knows what the session is allowed to do; `tab.ts` checks that the session obeys.
 */

import type { SessionOptions } from '../../src/session/index.ts';

/**
 * - `none`: the session has no `consent` option. `yes`, `no`: the answer is synchronous.
 * - `promised`: the promise resolves with the first answer. `pending`: it never settles. `fails`: it rejects. In all three
 *   later answers come by `onChange`.
 * - `overtaken`: all answers come by `onChange`; then the promise resolves with the opposite of the first, which is void.
 */
export type Consent = 'none' | 'yes' | 'no' | 'promised' | 'pending' | 'fails' | 'overtaken';

/**
 * Build a consent tool.
 *
 * @param ran  returns how long the page has been able to run, ms.
 */
export const createConsentTool = (consent: Consent, ran: () => number) => {
  const first = consent === 'none' || consent === 'yes' ? true : consent === 'no' ? false : undefined;
  let granted = first;
  let tell = (_: boolean) => {};
  let keep: ((granted: boolean) => void) | undefined;
  let grantedAt = first ? 0 : Number.POSITIVE_INFINITY;

  const ask: SessionOptions['consent'] = (onChange) => {
    tell = onChange;
    if (consent === 'fails') return Promise.reject(new Error('no consent tool'));
    if (consent === 'promised' || consent === 'overtaken') return new Promise((resolve) => (keep = resolve));
    return first ?? new Promise(() => {});
  };

  return {
    /** The `consent` option of the session. */
    option: consent === 'none' ? undefined : ask,
    /** The last answer; undefined before the first. */
    get granted() {
      return granted;
    },
    /** When consent was first given, in ms of the page's running time; `Infinity`: never. */
    get grantedAt() {
      return grantedAt;
    },
    /** Whether consent was given and then withdrawn. */
    get isWithdrawn() {
      return granted === false && grantedAt < Number.POSITIVE_INFINITY;
    },
    answer: (next: boolean) => {
      granted = next;
      if (next) grantedAt = Math.min(grantedAt, ran());
      const isFirst = keep !== undefined;
      if (!isFirst || consent === 'overtaken') tell(next);
      if (isFirst) keep!(consent === 'overtaken' ? !next : next);
      keep = undefined;
    },
  };
};
