/**
 * The hub: keeps one token set alive on a page. The only file that knows the order of things.
 *
 *   act -> ledger (memory, store) -> settle: events, schedule, tabs -> (the time comes, the page wakes) -> refresh -> act
 *
 * `settle` is the one place that looks at record and clock and decides what is next, so it may be called at any time,
 * as often as anyone likes.
 */

import { TokenError } from '../token/errors.ts';
import { nextWakeAt, phaseOf, tokenAt } from '../token/phase.ts';
import { parseAnswer } from '../token/token-set.ts';
import { createClock } from './clock.ts';
import { askConsent } from './consent.ts';
import type { Session, SessionState } from './contract.ts';
import { within } from './deadline.ts';
import { type Cause, createEvents, type NeedReason } from './events.ts';
import { createFlight } from './flight.ts';
import { createLedger } from './ledger.ts';
import { type Told, tellNews } from './news.ts';
import { parseOptions, type SessionOptions } from './options.ts';
import { needOf, runOf, tryAtOf } from './patience.ts';
import { type Act, forget, isSame, logOut, offer, optOut, serviceTime, setBack, supply } from './record.ts';
import { refresh } from './refresh.ts';
import { createSchedule, isVisible } from './schedule.ts';
import { lackOf, snapshotOf } from './snapshot.ts';
import { memoryStore, ownStore } from './store.ts';
import { joinTabs } from './tabs.ts';

/**
 * Create a session: `createSession({ baseUrl, provide })`.
 *
 * @throws {TypeError} for a wrong option, naming it, what was expected and what came.
 */
export function createSession(options: SessionOptions): Session {
  const o = parseOptions(options);
  const time = createClock(o.now);
  const now = (o.now = time.now);
  let closed = false;
  /** What `consent` says; undefined until it does. */
  let granted: boolean | undefined;
  let lastError: TokenError | undefined;
  /** This page is frozen, or kept in the back/forward cache. */
  let away = false;
  /** The present need has been told to the page. */
  let needTold = false;
  /** What listeners know. */
  let known: Told = {};
  /** What brings the next token: whoever looks first when it is there, tells it. */
  let cause: Cause = 'load';
  let snapshot: SessionState;
  let shown: string;
  /** How many wait for a token. */
  let waiting = 0;

  const { on, emit, log } = createEvents(o.logger);
  const report = (error: TokenError) => {
    if (closed) return;
    lastError = error;
    log(error);
    emit('error', error);
  };

  const ledger = createLedger(
    o.baseUrl,
    o.store ?? ownStore(o.name),
    memoryStore,
    (next, before) => {
      if (next.generation !== before.generation) flight.giveUp();
      // Measured by the wall clock, maybe in another tab.
      if (next.receivedAt !== before.receivedAt) time.rewind();
      if (!isSame(next, before)) {
        flight.failing = false;
        lastError = undefined;
        // A set meets the need. A logout makes none: whoever logs out knows.
        needTold = flight.nobody = next.clearedAt !== before.clearedAt && !next.set;
      }
    },
    report,
  );

  const clock = () => serviceTime(ledger.record, now());
  const phase = () => phaseOf(ledger.record, clock());
  const runNow = () => runOf(ledger.record, now());
  const tokenNow = () => (closed ? undefined : tokenAt(ledger.record, clock()));
  /** Nothing is on its way into the store or out of it: what is known may be told and acted upon. */
  const idle = () => granted && ledger.isLoaded && !ledger.unwritten && !closed;

  /** Change the record, then see to what follows. What a refresh brings is written before memory has it. */
  const commit = async (act: Act, by: Cause = 'set') => {
    if (granted === false) throw lack();
    const writing = ledger.enact(act, by === 'set');
    const before = cause;
    cause = by;
    settle();
    const changed = await writing;
    await ledger.repeating;
    if (changed) tabs.tell();
    else if (!ledger.unwritten) cause = before;
    // Closed before there was consent, or consent withdrawn meanwhile: nothing is stored.
    if (!granted) throw lack();
    settle();
  };

  /** Where the clock has been set back, go by it, and put right what was measured before. */
  const putRight = () => {
    const backMs = idle() && time.rewind();
    if (backMs && ledger.record.set) commit(setBack(ledger.record, backMs)).catch(() => {});
  };

  const take = async (input: unknown, act = supply) => {
    const answer = parseAnswer(input);
    putRight();
    if (act === supply) flight.notBefore = 0;
    await commit(answer === 'optout' ? optOut(now()) : act(answer, now()));
  };

  const tellNeed = (reason: NeedReason) => {
    if (!needTold) emit('needsTokens', { reason });
    needTold = true;
  };

  const tabs = joinTabs(o.name, (isNews) => look(isNews));

  /** Look at record and clock, see to what is next, and tell what is new. */
  const settle = () => {
    putRight();
    if (idle()) {
      const record = ledger.record;
      // Before all else looks at the clock: an instant that passes meanwhile is woken up for once more, not slept through.
      const wakeAt = nextWakeAt(record, clock()) - record.offsetMs;
      const is = phase();
      if (is === 'fresh') flight.turns = flight.notBefore = 0;
      const reason = needOf(is, runNow());
      const isWanted = reason ? o.provide && !flight.nobody : record.set && is !== 'fresh' && o.refresh === 'auto';
      const nextAt =
        isWanted && !flight.up
          ? Math.max(flight.notBefore, reason ? 0 : tryAtOf(runNow(), flight.soonAt))
          : Number.POSITIVE_INFINITY;
      // A hidden page waits until it is seen, or asked for a token.
      if (now() >= nextAt && (isVisible() || waiting)) flight.takeOff(reason);
      schedule.at(Math.min(nextAt, wakeAt));
      // Listeners come last: whatever they do settles anew.
      if (reason && !o.provide) tellNeed(reason);
      known = tellNews(known, record, clock(), cause, emit);
      cause = 'tab';
    }
    renew();
    emit('settled');
  };

  /** Bring the snapshot up to date, and tell if anything has changed. */
  const renew = () => {
    const token = tokenNow();
    const waitingFor =
      (!granted && 'consent') ||
      (!ledger.isLoaded && 'storage') ||
      (flight.up && !token && (flight.need ? 'provide' : 'refresh')) ||
      undefined;
    const next = snapshotOf(ledger.record, phase(), ledger.kind(), waitingFor, lastError);
    const text = JSON.stringify([next, token]);
    if (text !== shown) {
      snapshot = Object.freeze(next);
      emit('change');
    }
    shown = text;
  };

  const flight = createFlight(o, ledger, tabs, {
    sendSet: (set, signal) => refresh(o, set, signal, clock()),
    commitAct: (act, by) => {
      putRight();
      return commit(act, by);
    },
    takeAnswer: take,
    tellError: report,
    tellNeed,
    onLanded: settle,
  });

  const look = async (isNews?: unknown) => {
    // Pending consent is waited for: what was read before the page was away does not count.
    if (granted === false || closed || away) return;
    await ledger.pull(isNews);
    flight.nudge?.();
    settle();
  };

  const wake = () => {
    away = false;
    tabs.meet();
    flight.awaken();
    void look();
  };

  /** What happens elsewhere is not heard of from now on: nothing is known until the page is back and has read again. */
  const leave = async () => {
    away = true;
    flight.giveUp();
    ledger.forgo();
    settle();
    // A logout that is being written still reaches the other tabs.
    await ledger.drained();
    await ledger.repeating;
    if (!away) return;
    ledger.letGo();
    tabs.part();
  };

  const schedule = createSchedule(now, settle, wake, leave);
  tabs.meet();
  void ledger.pull().then(settle);
  // What the page was rendered with comes first: every act of the host outranks it.
  if (o.tokens) take(o.tokens, offer).catch(report);

  const decide = (answer: unknown) => {
    if (closed) return;
    const before = granted;
    if (before && answer !== true) {
      known = {};
      commit(forget).catch(() => {});
    }
    granted = answer === true;
    ledger.only = granted ? undefined : forget;
    if (granted) ledger.ungate();
    // Given again: others may have acted meanwhile.
    if (granted && before === false) {
      ledger.forgo();
      void look();
    }
    settle();
  };
  const asked = askConsent(o.consent, decide, log);

  const lack = () => lackOf(ledger.record, closed ? 'closed' : !granted && 'no_consent', lastError);

  /** Run `work`; the promise may be ignored. */
  const act = <T>(work: () => Promise<T>): Promise<T> => {
    const promise = closed ? Promise.reject(lack()) : work();
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
      renew();
      return snapshot;
    },
    getToken: (more) =>
      act(async () => {
        waiting++;
        let off!: () => void;
        const token = new Promise<string>((resolve, reject) => {
          off = on('settled', () => {
            const good = tokenNow();
            if (good) resolve(good);
            else if (closed || granted === false || (idle() && !flight.up)) reject(lack());
          });
          // Where a refresh is due, it starts, in a hidden page too; a good token does not wait for it.
          settle();
        });
        return within(more?.timeoutMs ?? o.timeoutMs, token).finally(() => {
          waiting--;
          off();
        });
      }),
    setTokens: (answer) => act(() => take(answer)),
    clear: (more) => act(() => commit(logOut(now(), more?.forget))),
    refresh: () =>
      act(async () => {
        await ledger.drained();
        if (closed || !granted) throw lack();
        flight.nobody = false;
        const reason = o.refresh === 'off' ? 'empty' : needOf(phase(), undefined);
        if (reason && !o.provide) throw lack();
        const before = ledger.record;
        const error = await flight.takeOff(reason, true);
        if (error || ledger.record.ended || !tokenNow()) throw error ?? lack();
        // It is too early for another try, or another tab was at it and has brought nothing.
        if (!reason && isSame(ledger.record, before)) throw lastError ?? new TokenError('network');
      }),
    on,
    subscribe: (listener) => on('change', listener),
    close: () => {
      closed = true;
      flight.giveUp();
      schedule.close();
      // A logout that is being written still reaches the other tabs.
      void ledger.close().then(tabs.part);
      settle();
    },
  };
}
