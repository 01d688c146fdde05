/**
 * Which of several identities counts: that of the page, the cookie that a server has set, our own copy, what the former
 * SDK has left, a mark of a logout or an opt-out, and the session's record. Pure: values in, a decision out.
 *
 * A copy or mark of ours has the member `tessera`: the time of the act (login, logout, opt-out) behind it, epoch ms. Among
 * copies, marks and the record the newest act wins. A value without that member comes from a server or the former SDK.
 */

import { parseAnswer, parseTokenSet, type TokenSet, toWire } from '../../token/token-set.ts';
import { type Found, type Kept, tryTo } from './places.ts';
import type { Identity } from './types.ts';

/** The session's record, as far as it matters here. */
export interface RecordView {
  readonly set?: TokenSet | undefined;
  /** Time of the last login, logout or opt-out, epoch ms; 0 if unknown. */
  readonly actAt: number;
  readonly isOptedOut: boolean;
  /** The user has logged out, or opted out, since the last login. */
  readonly isCleared: boolean;
}

/** What is known when a decision is made. */
export interface Evidence {
  /** Every value that was found, and what the page supplies. */
  readonly found: readonly Found[];
  /** The page has asked for the cookie. */
  readonly isCookieMode: boolean;
  /** The identity in force before, if the session is only started again. */
  readonly current?: Identity | null | undefined;
  /** null: nothing is stored. Left out: not read yet. */
  readonly record?: RecordView | null | undefined;
}

export type Mark = 'optout' | 'logout';

/** What the session is asked to do once the record has been read. `actAt`: when it was done elsewhere, if that is known. */
export type Act =
  | { readonly type: 'optOut'; readonly actAt: number | undefined }
  | { readonly type: 'logOut'; readonly actAt: number | undefined }
  /** Supply a set, as `setTokens` does. */
  | { readonly type: 'supply'; readonly identity: Identity; readonly actAt: number | undefined }
  /** Start again with a set that the session refuses if it already knows that set or its logout. */
  | { readonly type: 'offer'; readonly identity: Identity };

export interface Decision {
  /** The identity to give out until the record has been read. */
  readonly candidate?: Identity | undefined;
  /** The mark that forbids to give out anything until the record has been read. */
  readonly mark?: Mark | undefined;
  /** The set that the session starts with: refused there if the session already knows it, or its logout. */
  readonly offer?: Identity | undefined;
  /** Empty until the record has been read. */
  readonly acts: readonly Act[];
}

const isMark = (value: Identity): boolean => value['status'] === 'optout' || value['status'] === 'logout';
const isSet = (value: Identity): boolean => tryTo(() => parseTokenSet(value)) !== undefined;
const newestFirst =
  (...members: string[]) =>
  (one: Identity, other: Identity): number => {
    const member = members.find((name) => one[name] !== other[name]);
    return member ? Number(other[member]) - Number(one[member]) : 0;
  };

/** Bring what a page supplies into the form of a found value; undefined if it is malformed. */
export function suppliedBy(page: unknown): Found | undefined {
  const answer = tryTo(() => parseAnswer(page));
  if (!answer) return undefined;
  const { tessera } = Object(page) as { tessera?: unknown };
  const value: Identity =
    answer === 'optout' ? { status: answer } : { ...toWire(answer), ...(tessera ? { tessera } : {}) };
  return { from: 'page', value };
}

/** Sort what was found into marks, copies of ours, and sets that somebody else supplies. */
const sort = ({ found, isCookieMode }: Evidence) => {
  // Any sibling subdomain can set a cookie: an identity in it counts only in cookie mode. An opt-out always counts.
  const admitted = found.filter(({ from, value }) => from !== 'cookie' || isCookieMode || value['status'] === 'optout');
  const timeOf = ({ tessera }: Identity, otherwise: number) => (tessera ? Number(tessera) || 1 : otherwise);
  const values = admitted.map(({ value }) => value);
  const marks = values
    .filter(isMark)
    .map((value) => ({ status: value['status'] as Mark, actAt: timeOf(value, Number.POSITIVE_INFINITY) }))
    // A server that says `logout` has no identity to name: nothing follows from it.
    .filter(({ status, actAt }) => status === 'optout' || actAt < Number.POSITIVE_INFINITY)
    .sort((one, other) => other.actAt - one.actAt);
  const sets = admitted.filter(({ value }) => !isMark(value) && isSet(value));
  const copies = sets
    .filter(({ value }) => value['tessera'])
    .map(({ value }) => value)
    .sort(newestFirst('tessera', 'identity_expires'));
  const supplied = sets
    .filter(({ value }) => !value['tessera'])
    .sort(
      (one, other) =>
        Number(other.from === 'page') - Number(one.from === 'page') ||
        newestFirst('identity_expires')(one.value, other.value),
    );
  const [mark] = marks;
  const [copy] = copies;
  const copyAt = copy ? timeOf(copy, 0) : 0;
  return { mark: mark && mark.actAt >= copyAt ? mark : undefined, copy, copyAt, supplied: supplied[0]?.value };
};

/**
 * Decide what to give out before the record has been read, and what the session has to be told afterwards.
 *
 * Call it twice with the same evidence: without `record`, then with it.
 */
export function decide(evidence: Evidence): Decision {
  const { mark, copy, copyAt, supplied } = sort(evidence);
  const { record, current } = evidence;
  if (record === undefined) {
    return mark
      ? { mark: mark.status, acts: [] }
      : { candidate: supplied ?? copy ?? current ?? undefined, offer: supplied, acts: [] };
  }
  // A record without a time was written by a session alone; no copy is known to be newer.
  const recordAt = record ? record.actAt || Number.POSITIVE_INFINITY : -1;
  if (mark) {
    const isNews = mark.actAt > recordAt;
    const actAt = Number.isFinite(mark.actAt) ? mark.actAt : undefined;
    // Behind an opt-out, a set waits until the service accepts it.
    if (isNews && mark.status === 'optout')
      return {
        acts: [
          { type: 'optOut', actAt },
          ...(supplied ? [{ type: 'supply', identity: supplied, actAt: undefined } as const] : []),
        ],
      };
    return {
      acts: [
        ...(isNews && record ? [{ type: 'logOut', actAt } as const] : []),
        ...(supplied ? [{ type: 'offer', identity: supplied } as const] : []),
      ],
    };
  }
  // Of one login, the later set is the one that was refreshed.
  const isRefreshed = copyAt === recordAt && record?.set && Number(copy!['identity_expires']) > record.set.expiresAt;
  const isNews = copy && (copyAt > recordAt || isRefreshed);
  return { acts: isNews ? [{ type: 'supply', identity: copy, actAt: copyAt }] : [] };
}

/** Keep only the marks: what is left of the evidence after a logout. */
export function withoutIdentities(found: readonly Found[]): Found[] {
  return found.filter(({ value }) => isMark(value));
}

/**
 * Decide whether a look at the places of an open page brings anything new: an act elsewhere that is newer than the record,
 * or a set that a server has put into the cookie.
 *
 * @param known  refresh tokens that this page has already considered.
 */
export function hasNews(
  evidence: Evidence & { readonly record: RecordView | null },
  known: ReadonlySet<unknown>,
): boolean {
  const { mark, copy, copyAt, supplied } = sort(evidence);
  const recordAt = evidence.record ? evidence.record.actAt || Number.POSITIVE_INFINITY : -1;
  if (supplied && !known.has(supplied['refresh_token'])) return true;
  if (mark) return mark.actAt > recordAt && !(mark.status === 'logout' && !evidence.record?.set);
  return copy !== undefined && copyAt > recordAt;
}

/** Tell whether a value is an identity that this file has not written. */
export function isForeignSet(value: Identity): boolean {
  return !value['tessera'] && !isMark(value);
}

/** How long a mark stays in its place, ms: the session keeps its own of an opt-out without an end. */
const MARK_MS = 365 * 86_400_000;

/** The mark to keep after a logout or an opt-out. With a `cookieDomain` other hosts share, a logout is marked there too. */
export function markOf(status: Mark, actAt: number, now: number, isDomainShared: boolean): Kept {
  const expiresAt = now + MARK_MS;
  return {
    // The former SDK reads these members.
    value: { status, identity_expires: expiresAt, refresh_expires: expiresAt, tessera: actAt || 1 },
    expiresAt,
    place: status === 'optout' || isDomainShared ? 'both' : 'local',
  };
}

/** What to keep in the places for a record: a copy of its set, a mark, or nothing. */
export function keptFor(
  record: RecordView | null,
  isSetInForce: boolean,
  now: number,
  isDomainShared: boolean,
): Kept | undefined {
  if (record?.isOptedOut) return markOf('optout', record.actAt, now, isDomainShared);
  const { set, actAt = 0 } = record ?? {};
  if (set && isSetInForce)
    return { value: { ...toWire(set), tessera: actAt || 1 }, expiresAt: set.endsAt, place: 'shared' };
  return record?.isCleared && !set ? markOf('logout', actAt, now, isDomainShared) : undefined;
}
