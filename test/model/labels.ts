/**
 * The labels of users in a simulated profile: which pages have one, and what a page that is rendered with one ends. The host is
 * right: it gives no user the label of another one. It must not look at a session.
 */

import type { ExpectedState, Operation } from './expected-state.ts';

/** The label of a page: a user, `null` for nobody, undefined for none. */
export type Label = string | null | undefined;

/** The label of a set that depends on the page that asked for it. */
export const UNKNOWN = '?';

/** What a page does, when it has consent, to the record of anybody else: nothing, a logout, or one of the two. */
export type Ending = 'none' | 'certain' | 'uncertain';

/**
 * Derive what a page with a label ends.
 *
 * @param root  of the set that the page was rendered with: a set without a label that is this one is kept.
 */
export const endingBy = (label: Label, { inForce }: ExpectedState, root: number | undefined): Ending => {
  if (label === undefined) return 'none';
  const isEnded = (operation: Operation): boolean =>
    label === null ? operation.label !== undefined : operation.label !== label;
  const some = inForce();
  const ended = some.filter(isEnded);
  if (!ended.length) return 'none';
  const isUnclear = ({ label: of, kind, root: found }: Operation) =>
    of === UNKNOWN || (kind === 'set' && of === undefined && found === root);
  return ended.length === some.length && !some.some(isUnclear) ? 'certain' : 'uncertain';
};

/** A page with a label was rendered with a set that sessions know: the record of that set may have got the label. */
export const relabel = (label: Label, { operations }: ExpectedState, root: number): void => {
  if (typeof label !== 'string') return;
  for (const operation of operations)
    if (operation.root === root && operation.label !== label) operation.label = UNKNOWN;
};

/** Whether a page with this label may show what is in force. */
export const mayShow = (label: Label, { inForce }: ExpectedState): boolean =>
  typeof label !== 'string' || inForce().every((operation) => operation.label === label);
