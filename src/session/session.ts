/**
 * The hub: keeps one token set alive on a page. The only file that knows the order of things.
 *
 *   act -> ledger (memory, store) -> settle: events, schedule, tabs -> (the time comes, the page wakes) -> refresh -> act
 *
 * `settle` is the one place that looks at record and clock and decides what is next, so it may be called at any time,
 * as often as anyone likes.
 */

import { type ErrorCode, isTokenError, TokenError } from '../token/errors.ts';
import { nextWakeAt, type Phase, phaseOf, tokenAt } from '../token/phase.ts';
import { parseAnswer, type TokenSet } from '../token/token-set.ts';
import type { Session, SessionState } from './contract.ts';
import { within } from './deadline.ts';
import { type Cause, createEvents, type NeedReason } from './events.ts';
import { createLedger } from './ledger.ts';
import { type Told, tellNews } from './news.ts';
import { parseOptions, type SessionOptions } from './options.ts';
import { backOffMs, isRefusal, isSpent, spacedMs } from './patience.ts';
import { type Act, answered, forget, logOut, offer, optOut, supply } from './record.ts';
import { refresh } from './refresh.ts';
import { createSchedule, isVisible } from './schedule.ts';
import { memoryStore, ownStore } from './store.ts';
import { joinTabs } from './tabs.ts';

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
  let closed = false;
  /** What `consent` says; undefined until it does. */
  let granted: boolean | undefined;
  /** Gives up the one refresh, or question to `provide`, under way. */
  let flying: AbortController | undefined;
  /** The latest of them, also when it is over; resolves with the error that it failed with. */
  let flight: Promise<TokenError | undefined> | undefined;
  /** Wakes a flight that waits for another tab. */
  let nudge = () => {};
  let lastError: TokenError | undefined;
  /** Flights since all was well, and the pause that the last of them is worth. */
  let tries = 0;
  let pauseMs = 0;
  /** Local instant before which there is no other flight. */
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
  /** How many wait for a token. */
  let waiting = 0;

  const log = (what: unknown) => {
    try {
      o.logger?.debug('tessera', what);
    } catch {}
  };
  const { on, emit } = createEvents(log);
  const report = (error: TokenError) => {
    if (closed) return;
    lastError = error;
    log(error);
    emit('error', error);
  };

  /** Give up what is under way: its answer is not wanted any more. */
  const drop = () => {
    flying?.abort();
    flying = undefined;
  };

  const ledger = createLedger(
    o.baseUrl,
    o.store ?? ownStore(o.name),
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
  const idle = () => granted && ledger.isLoaded && !ledger.unwritten && !closed;

  /** Change the record, then see to what follows. What a refresh brings is written before memory has it. */
  const commit = async (act: Act, cause: Cause = 'set') => {
    if (granted === false) throw lack();
    const writing = ledger.enact(act, cause === 'set');
    settle();
    const changed = await writing;
    // Closed before there was consent, or consent withdrawn meanwhile: nothing is stored.
    if (!granted) throw lack();
    if (changed) tabs.tell();
    settle(changed ? cause : foundBy);
  };

  const take = async (input: unknown, act = supply) => {
    const answer = parseAnswer(input);
    await commit(answer === 'optout' ? optOut : act(answer, now()));
  };

  // ---- Refreshing, and asking for a set ----

  const tell = (reason: NeedReason) => {
    if (!needTold) emit('needsTokens', { reason });
    needTold = true;
  };

  /** The one flight: ask `provide` where there is a reason to, else refresh. Resolves with the error that it failed with. */
  const start = (reason: NeedReason | undefined) => {
    const mine = new AbortController();
    const { signal } = mine;
    flying = mine;
    pauseMs = backOffMs(o, tries++);
    // However it ends: after the third in a row without a fresh set, each waits its turn.
    retryAt = tries > 3 ? now() + pauseMs : 0;

    /** What `work` brings in time; ends at once where nobody wants it any more. */
    const wanted = <T>(work: Promise<T>, moreMs = 0): Promise<T> => within(timeoutMs + moreMs, work, signal);

    /** Inside the lock: read again, send, open, write. */
    const exchange = async () => {
      const before = ledger.record.set?.refreshToken;
      await wanted(ledger.pull());
      const sent = ledger.record;
      // Another tab was faster, or there is nothing to send.
      if (!sent.set || sent.set.refreshToken !== before) return;
      const { word, dateMs } = await wanted(refresh(o, sent.set, signal));
      // Where another tab holds a newer set by now, this changes nothing, and that set is adopted.
      await commit(answered(sent, word, dateMs, now()), 'refresh');
    };

    const fly = async (): Promise<TokenError | undefined> => {
      let error: TokenError | undefined;
      try {
        if (reason) {
          const answer = await wanted((async () => provide?.({ signal, reason }))());
          // Another tab may have logged the user in or out meanwhile: then this answer is late, and nobody's.
          await wanted(ledger.pull());
          // null, undefined, or a response 204: nobody is signed in.
          nobody = !answer || (answer as Response).status === 204;
          if (nobody) tell(reason);
          else await take(answer);
        } else if (!(await tabs.alone(exchange))) {
          // Another tab is at it: look again when it tells, or when it must have given up.
          const news = new Promise<void>((resolve) => (nudge = resolve));
          await wanted(news, PATIENCE_MS).catch(() => {});
        }
      } catch (cause) {
        if (!signal.aborted) {
          // What was thrown is not passed on: a parser in `provide` quotes what it chokes on.
          error = isTokenError(cause) ? cause : new TokenError('network', 'no answer');
          lastError = error;
          const refused = !reason && isRefusal(error);
          retryAt = now() + (refused ? spacedMs(refusals++) : Math.max(pauseMs, error.retryAfterMs ?? 0));
          // A refusal is always told, of a run of outages only the first.
          if (!failing || refused) report(error);
          failing = true;
          if (reason) tell(reason);
        }
      }
      if (flying === mine) drop();
      // After a time-out the request is still under way.
      mine.abort();
      settle();
      return error;
    };
    return (flight = fly());
  };

  // ---- Looking at record and clock ----

  /** Why a new set is needed, if it is. */
  const needOf = (is: Phase): NeedReason | undefined =>
    is === 'empty' || is === 'ended' ? is : isSpent(refusals) && is !== 'optedOut' ? 'refused' : undefined;

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
      const wanted = reason
        ? provide && !nobody
        : record.set && is !== 'fresh' && o.refresh === 'auto' && !isSpent(refusals);
      // A hidden page waits until it is seen, or asked for a token.
      if (wanted && !flying && now() >= retryAt && (isVisible() || waiting)) start(reason);
      const wakeAt = nextWakeAt(record, clock()) - record.offsetMs;
      schedule.at(wanted && !flying ? Math.min(wakeAt, retryAt) : wakeAt);
      foundBy = 'tab';
      // Listeners come last: whatever they do settles anew.
      if (reason && !provide) tell(reason);
      known = tellNews(known, record, clock(), cause, emit);
    }
    renew();
    emit('settled');
  };

  /** Bring the snapshot up to date, and tell if anything has changed. */
  const renew = () => {
    const { set, ended, offsetMs } = ledger.record;
    const { refreshAt, expiresAt, endsAt }: Partial<TokenSet> = set ?? {};
    const token = tokenNow();
    const next: SessionState = {
      phase: phase(),
      refreshAt,
      expiresAt,
      endsAt,
      persistence: ledger.kind(),
      waitingFor:
        (!granted && 'consent') ||
        (!ledger.isLoaded && 'storage') ||
        (flying && !token && (set && !ended ? 'refresh' : 'provide')) ||
        undefined,
      lastError,
      clockOffsetMs: offsetMs || undefined,
    };
    const text = JSON.stringify([next, token]);
    if (text !== shown) {
      snapshot = Object.freeze(next);
      emit('change');
    }
    shown = text;
  };

  const look = async () => {
    if (!idle()) return;
    await ledger.pull();
    nudge();
    settle();
  };

  const schedule = createSchedule(now, settle, look);

  const tabs = joinTabs(o.name, look);

  void ledger.pull().then(() => settle());
  // What the page was rendered with comes first: every act of the host outranks it.
  if (o.tokens) take(o.tokens, offer).catch(report);

  const decide = (answer: unknown) => {
    if (closed) return;
    const before = granted;
    granted = answer === true;
    if (granted) ledger.ungate();
    else if (before) {
      known = {};
      void ledger.enact(forget, true).then(tabs.tell);
    }
    settle();
  };
  /** Resolves when an answer is there, or is known to come later. */
  const asked = (async () => {
    const answer = o.consent ? o.consent(decide) : true;
    if (typeof answer === 'boolean') decide(answer);
    else answer.then(decide, log);
  })();

  // ---- What the page sees ----

  /** Why there is no token. */
  const lack = () => {
    const { optedOut, ended } = ledger.record;
    const code: ErrorCode =
      (closed && 'closed') ||
      (!granted && 'no_consent') ||
      (optedOut && 'opted_out') ||
      (ended && 'refresh_rejected') ||
      'no_token';
    return (code === 'no_token' && lastError) || new TokenError(code, code);
  };

  /** Run `work`; the promise may be ignored. */
  const act = <T>(work: () => Promise<T>): Promise<T> => {
    const promise = closed ? Promise.reject(lack()) : work();
    promise.catch(() => {});
    return promise;
  };

  renew();
  return {
    ready: asked.then(() => granted && ledger.drained(), log) as Promise<void>,
    get advertisingToken() {
      schedule.poke();
      return tokenNow();
    },
    get state() {
      schedule.poke();
      renew();
      return snapshot;
    },
    getToken: ({ timeoutMs: ms = timeoutMs } = {}) =>
      act(async () => {
        waiting++;
        let off = () => {};
        const token = new Promise<string>((resolve, reject) => {
          off = on('settled', () => {
            const good = tokenNow();
            if (good) resolve(good);
            else if (closed || granted === false || (idle() && !flying)) reject(lack());
          });
          // Where a refresh is due, it starts, in a hidden page too; a good token does not wait for it.
          settle();
        });
        return within(ms, token).finally(() => {
          waiting--;
          off();
        });
      }),
    setTokens: (answer) => act(() => take(answer)),
    clear: () => act(() => commit(logOut(now()))),
    refresh: () =>
      act(async () => {
        await (granted && ledger.drained());
        if (closed || !granted) throw lack();
        refusals = 0;
        nobody = false;
        const reason = o.refresh === 'off' ? 'empty' : needOf(phase());
        if (reason && !provide) throw lack();
        const error = await (flying ? flight : start(reason));
        if (error || ledger.record.ended || !tokenNow()) throw error ?? lack();
      }),
    on,
    subscribe: (listener) => on('change', listener),
    close: () => {
      closed = true;
      drop();
      schedule.close();
      // A logout that is being written still reaches the other tabs.
      void ledger.close(granted).then(tabs.close);
      settle();
    },
  };
};
