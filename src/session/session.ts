/**
 * The hub: keeps one token set alive on a page. The only file that knows the order of things.
 *
 *   act -> ledger (memory, store) -> settle: events, schedule, tabs -> (the time comes, the page wakes) -> refresh -> act
 *
 * `settle` is the one place that looks at record and clock and decides what is next, so it may be called at any time,
 * as often as anyone likes.
 */

import type { ErrorCode } from '../token/errors.ts';
import { isTokenError, TokenError } from '../token/errors.ts';
import type { Phase } from '../token/phase.ts';
import { nextWakeAt, phaseOf, tokenAt } from '../token/phase.ts';
import type { Answer, TokenSet } from '../token/token-set.ts';
import { parseAnswer } from '../token/token-set.ts';
import type { Session, SessionState } from './contract.ts';
import { within } from './deadline.ts';
import type { Cause, NeedReason } from './events.ts';
import { createEvents } from './events.ts';
import { createLedger } from './ledger.ts';
import type { Told } from './news.ts';
import { tellNews } from './news.ts';
import type { SessionOptions } from './options.ts';
import { parseOptions } from './options.ts';
import type { Act } from './record.ts';
import { answered, logOut, offer, optOut, supply, wipe } from './record.ts';
import { isRefusal, refresh } from './refresh.ts';
import { createSchedule, isVisible } from './schedule.ts';
import { indexedDbStore, memoryStore } from './store.ts';
import { joinTabs } from './tabs.ts';

/** Spacing of tries after the service, or its answer, was at fault; after the last of them a new set is needed. */
const SPACED_MS = [30_000, 120_000, 600_000];
/** How much longer than its own deadline another tab's refresh is waited for. */
const PATIENCE_MS = 2_000;

/**
 * Create a session.
 *
 * @throws {TypeError} for a wrong option, naming it, what was expected and what came.
 * @example
 * const session = createSession({
 *   baseUrl: 'https://operator.example',
 *   provide: () => fetch('/token', { method: 'POST' }).then((r) => (r.status === 204 ? null : r.json())),
 * });
 * session.on('token', ({ advertisingToken }) => bid(advertisingToken));
 */
export const createSession = (options: SessionOptions): Session => {
  const o = parseOptions(options);
  const { now, timeoutMs, provide } = o;
  let { tokens } = o;
  /** undefined: not decided yet. */
  let consent: boolean | undefined;
  let closed = false;
  /** Acts of the host from before consent. */
  const held: Act[] = [];
  /** The one refresh, or question to `provide`, under way; resolves with the error that it failed with. */
  let flight: Promise<TokenError | undefined> | undefined;
  let flightIs: 'provide' | 'refresh' | undefined;
  let abort = new AbortController();
  /** Wakes a flight that waits for another tab. */
  let nudge = () => {};
  let lastError: TokenError | undefined;
  /** Flights since all was well, and the local instant before which there is no other. */
  let tries = 0;
  let retryAt = 0;
  /** A failure of the present run has been told. */
  let failing = false;
  /** How often the service has refused the present set. */
  let refusals = 0;
  /** The present need has been told to the page. */
  let needTold = false;
  /** Nobody is signed in: `provide` is left alone until a set comes another way, or `refresh()` is called. */
  let nobody = false;
  /** What listeners know. */
  let known: Told = {};
  /** Of a token that nobody here has brought about. */
  let foundBy: Cause = 'load';
  let snapshot: SessionState;
  let shown: string;
  const waiters = new Set<() => void>();

  const log = (what: unknown) => o.logger?.debug('tessera', what);
  const { on, emit } = createEvents(log);
  const report = (error: TokenError) => {
    lastError = error;
    log(error);
    emit('error', error);
  };

  /** Give up what is under way: its answer is not wanted any more. */
  const drop = () => {
    abort.abort();
    flight = undefined;
    nudge();
  };

  const ledger = createLedger(
    o.baseUrl,
    // No IndexedDB at all (Node, some webviews) is no failure.
    o.store ?? (globalThis.indexedDB ? indexedDbStore(o.name) : memoryStore()),
    memoryStore,
    (next, before) => {
      const explicit = next.generation !== before.generation;
      if (explicit) {
        drop();
        retryAt = 0;
      }
      if (explicit || next.set?.refreshToken !== before.set?.refreshToken) {
        refusals = 0;
        lastError = undefined;
        // A set meets the need. A logout makes none: whoever logs out knows.
        needTold = nobody = next.clearedAt !== before.clearedAt && !next.set;
      }
    },
    report,
  );

  /** The service's time. */
  const clock = () => now() + ledger.record.offsetMs;
  const phase = () => phaseOf(ledger.record, clock());
  const tokenNow = () => (closed ? undefined : tokenAt(ledger.record, clock()));
  /** Nothing is on its way into the store or out of it: what is known may be told and acted upon. */
  const idle = () => consent && ledger.idle() && !closed;

  /** Change the record, then see to what follows. What a refresh brings is written before memory has it. */
  const commit = async (act: Act, cause: Cause = 'set') => {
    if (!consent) {
      held.push(act);
      return;
    }
    const writing = ledger.commit(act, cause === 'set');
    settle();
    const changed = await writing;
    if (changed) tabs.tell();
    settle(changed ? cause : foundBy);
  };

  const take = (answer: Answer, act = supply) => commit(answer === 'optout' ? optOut : act(answer, now()));

  // ---- Refreshing, and asking for a set ----

  /** Inside the lock: read again, send, open, write. */
  const exchange = async (signal: AbortSignal) => {
    const before = ledger.record.set?.refreshToken;
    await ledger.pull();
    const sent = ledger.record;
    // Another tab was faster, or the user is gone.
    if (signal.aborted || !sent.set || sent.set.refreshToken !== before) return;
    const { word, dateMs } = await within(timeoutMs, refresh(o, sent.set, signal));
    // Where another tab holds a newer set by now, this changes nothing, and that set is adopted.
    if (!signal.aborted) await commit(answered(sent, word, dateMs, now()), 'refresh');
  };

  const exhausted = () => refusals > SPACED_MS.length;

  const tell = (reason: NeedReason) => {
    if (!needTold) emit('needsTokens', { reason });
    needTold = true;
  };

  const ask = async (reason: NeedReason, signal: AbortSignal) => {
    const answer = await within(timeoutMs, (async () => provide?.({ signal, reason }))());
    if (signal.aborted) return;
    // null, undefined, or a response 204: nobody is signed in.
    nobody = !answer || (answer as Response).status === 204;
    if (nobody) tell(reason);
    else await take(parseAnswer(answer));
  };

  /** Start the one flight: ask `provide` where there is a reason to, else refresh. */
  const start = (reason: NeedReason | undefined) => {
    const mine = new AbortController();
    const { signal } = mine;
    abort = mine;
    flightIs = reason ? 'provide' : 'refresh';
    const pauseMs = Math.random() * Math.min(o.maxMs, o.firstMs * 2 ** tries++);
    // However they end, flights without a fresh set are no loop: after the third in a row each waits its turn.
    retryAt = tries > 3 ? now() + pauseMs : 0;
    const running = (async () => {
      let error: TokenError | undefined;
      try {
        if (reason) await ask(reason, signal);
        else if (!(await tabs.alone(() => exchange(signal)))) {
          // Another tab is at it: look again when it tells, or when it must have given up.
          const news = new Promise<void>((resolve) => (nudge = resolve));
          await within(timeoutMs + PATIENCE_MS, news).catch(ledger.pull);
        }
      } catch (cause) {
        if (!signal.aborted) {
          error = isTokenError(cause) ? cause : new TokenError('network', `${flightIs}: failed`, { cause });
          const refused = !reason && isRefusal(error);
          retryAt = refused ? now() + (SPACED_MS[refusals++] ?? 0) : now() + Math.max(pauseMs, error.retryAfterMs ?? 0);
          // Of a run of outages only the first is told.
          if (!failing || refused) report(error);
          lastError = error;
          failing = true;
          if (reason) tell(reason);
        }
      }
      // After a time-out the request is still under way.
      mine.abort();
      if (abort === mine) flight = undefined;
      settle();
      return error;
    })();
    flight = running;
    return running;
  };

  // ---- Looking at record and clock ----

  /** Why a new set is needed, if it is. */
  const needOf = (is: Phase): NeedReason | undefined =>
    is === 'empty' || is === 'ended' ? is : exhausted() && is !== 'optedOut' ? 'refused' : undefined;

  /**
   * Look at record and clock, see to what is next, and tell what is new.
   *
   * @param cause  of a token that is new since the last look.
   */
  const settle = (cause: Cause = foundBy) => {
    if (idle()) {
      const { record } = ledger;
      const is = phase();
      if (is === 'fresh') {
        tries = retryAt = 0;
        failing = false;
      }
      const reason = needOf(is);
      const wanted = reason ? provide && !nobody : record.set && is !== 'fresh' && o.refresh === 'auto' && !exhausted();
      // A hidden page waits until it is seen, or asked for a token.
      if (wanted && !flight && now() >= retryAt && (isVisible() || waiters.size)) start(reason);
      const wakeAt = nextWakeAt(record, clock()) - record.offsetMs;
      schedule.at(wanted && !flight ? Math.min(wakeAt, retryAt) : wakeAt);
      foundBy = 'tab';
      // Listeners come last: whatever they do settles anew.
      if (reason && !provide) tell(reason);
      known = tellNews(known, record, clock(), cause, emit);
    }
    if (renew()) emit('change');
    for (const check of [...waiters]) check();
  };

  /** Bring the snapshot up to date; tells whether anything has changed. */
  const renew = () => {
    const { set, offsetMs } = ledger.record;
    const { refreshAt, expiresAt, endsAt }: Partial<TokenSet> = set ?? {};
    const token = tokenNow();
    const next: SessionState = {
      phase: phase(),
      refreshAt,
      expiresAt,
      endsAt,
      persistence: ledger.kind(),
      waitingFor: !consent ? 'consent' : !ledger.loaded ? 'storage' : flight && !token ? flightIs : undefined,
      lastError,
      clockOffsetMs: offsetMs,
    };
    const text = JSON.stringify([next, token]);
    const changed = text !== shown;
    if (changed) snapshot = Object.freeze(next);
    shown = text;
    return changed;
  };

  const look = async () => {
    if (!idle()) return;
    await ledger.pull();
    nudge();
    settle();
  };

  const schedule = createSchedule(now, settle, look);

  const tabs = joinTabs(o.name, look);

  // ---- Consent ----

  const decide = async (granted: unknown) => {
    const before = consent;
    consent = granted === true;
    if (closed || consent === before) return;
    if (consent) {
      const acts = held.splice(0);
      const loading = ledger.load();
      // What the page was rendered with comes first: every act of the host outranks it.
      try {
        if (tokens) void take(parseAnswer(tokens), offer);
      } catch (error) {
        report(error as TokenError);
      }
      tokens = undefined;
      for (const act of acts) void commit(act);
      await loading;
    } else if (before) {
      known = {};
      await ledger.commit(wipe, true);
      tabs.tell();
    }
    settle();
  };

  const asked = (async () => {
    const answer = o.consent ? o.consent(decide) : true;
    // Pending consent: `ready` does not wait for it.
    if (typeof answer === 'boolean') void decide(answer);
    else answer.then(decide, log);
  })();

  // ---- What the page sees ----

  const refusal = (code: ErrorCode) => new TokenError(code, code.replace('_', ' '));
  /** Why there is no token. */
  const lack = () => {
    const { optedOut, ended } = ledger.record;
    return optedOut ? refusal('opted_out') : (lastError ?? refusal(ended ? 'refresh_rejected' : 'no_token'));
  };

  /** Run `work`; the promise may be ignored. */
  const act = <T>(work: () => Promise<T>): Promise<T> => {
    const promise = (async () => {
      if (closed) throw refusal('closed');
      return work();
    })();
    promise.catch(() => {});
    return promise;
  };

  renew();
  return {
    ready: asked.then(ledger.drained, log) as Promise<void>,
    get advertisingToken() {
      schedule.poke();
      return tokenNow();
    },
    get state() {
      schedule.poke();
      if (renew()) queueMicrotask(() => emit('change'));
      return snapshot;
    },
    getToken: ({ timeoutMs: ms = timeoutMs } = {}) =>
      act(async () => {
        let check = () => {};
        const token = new Promise<string>((resolve, reject) => {
          check = () => {
            const good = tokenNow();
            if (good) resolve(good);
            else if (closed) reject(refusal('closed'));
            else if (consent === false) reject(refusal('no_consent'));
            else if (idle() && !flight) reject(lack());
          };
        });
        waiters.add(check);
        // Where a refresh is due, it starts, in a hidden page too; a good token does not wait for it.
        settle();
        return within(ms, token).finally(() => waiters.delete(check));
      }),
    setTokens: (answer) => act(() => take(parseAnswer(answer))),
    clear: () => act(() => commit(logOut(now()))),
    refresh: () =>
      act(async () => {
        if (!consent) throw refusal('no_consent');
        await ledger.drained();
        refusals = 0;
        nobody = false;
        const error = await (flight ?? start(o.refresh === 'off' ? 'empty' : needOf(phase())));
        if (error || ledger.record.ended || !tokenNow()) throw error ?? lack();
      }),
    on,
    subscribe: (listener) => on('change', listener),
    close: () => {
      closed = true;
      drop();
      schedule.close();
      tabs.close();
      ledger.close();
      settle();
    },
  };
};
