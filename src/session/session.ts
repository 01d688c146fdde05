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
import { isSpent, needOf, runOf, tryAtOf } from './patience.ts';
import { type Act, forget, isSame, logOut, offer, optOut, provided, serviceTime, setBack, supply } from './record.ts';
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
export const createSession = (options: SessionOptions): Session => {
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
  /** Of a token that nobody here has brought about. */
  let foundBy: Cause = 'load';
  /** Of one that is being written: whoever looks first when it is, tells it. */
  let coming: Cause | undefined;
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
      if (next.offsetMs !== before.offsetMs || next.receivedAt !== before.receivedAt) time.follow();
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
  const commit = async (act: Act, cause: Cause = 'set') => {
    if (granted === false) throw lack();
    const writing = ledger.enact(act, cause === 'set');
    coming = cause;
    settle();
    const changed = await writing;
    coming = undefined;
    if (ledger.erasing) await ledger.erasing;
    // Closed before there was consent, or consent withdrawn meanwhile: nothing is stored.
    if (!granted) throw lack();
    if (changed) tabs.tell();
    settle(changed ? cause : foundBy);
  };

  /** Where the clock has been set back, go by it, and put right what was measured before. */
  const isSetBack = () => {
    const backMs = idle() && time.aheadMs();
    if (backMs) time.follow();
    if (!backMs || !ledger.record.set) return false;
    commit(setBack(ledger.record, backMs)).catch(() => {});
    return true;
  };

  const take = async (input: unknown, act = supply) => {
    const answer = parseAnswer(input);
    isSetBack();
    if (act === supply) flight.notBefore = 0;
    await commit(answer === 'optout' ? optOut(now()) : act(answer, now()));
  };

  const tellNeed = (reason: NeedReason) => {
    if (!needTold) emit('needsTokens', { reason });
    needTold = true;
  };

  const tabs = joinTabs(o.name, () => look());

  /** Look at record and clock, see to what is next, and tell what is new; `cause` is that of a new token. */
  const settle = (cause = coming ?? foundBy) => {
    if (!isSetBack() && idle()) {
      const { record } = ledger;
      const is = phase();
      if (is === 'fresh') flight.turns = flight.notBefore = 0;
      const reason = needOf(is, runNow());
      const wanted = reason
        ? o.provide && !flight.nobody
        : record.set && is !== 'fresh' && o.refresh === 'auto' && !isSpent(runNow());
      const nextAt = Math.max(flight.notBefore, reason ? 0 : tryAtOf(runNow(), flight.soonAt));
      // A hidden page waits until it is seen, or asked for a token.
      if (wanted && !flight.up && now() >= nextAt && (isVisible() || waiting)) flight.takeOff(reason);
      const wakeAt = nextWakeAt(record, clock()) - record.offsetMs;
      schedule.at(wanted && !flight.up ? Math.min(wakeAt, nextAt) : wakeAt);
      foundBy = 'tab';
      // Listeners come last: whatever they do settles anew.
      if (reason && !o.provide) tellNeed(reason);
      known = tellNews(known, record, clock(), cause, emit);
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
    sendSet: refresh,
    commitAct: commit,
    takeAnswer: (answer) => take(answer, provided),
    tellError: report,
    tellNeed,
    onLanded: settle,
  });

  const look = async () => {
    // Pending consent is waited for: what was read before the page was away does not count.
    if (granted === false || closed) return;
    await ledger.pull();
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
    await (granted && ledger.drained());
    if (!away) return;
    ledger.letGo();
    tabs.part();
  };

  const schedule = createSchedule(now, settle, wake, leave);

  tabs.meet();
  void ledger.pull().then(() => settle());
  // What the page was rendered with comes first: every act of the host outranks it.
  if (o.tokens) take(o.tokens, offer).catch(report);

  const decide = (answer: unknown) => {
    if (closed) return;
    const before = granted;
    granted = answer === true;
    if (granted) {
      ledger.ungate();
      // Given again: others may have acted meanwhile.
      if (before === false) ledger.forgo();
      if (before === false) void look();
    } else if (before) {
      known = {};
      const gone = ledger.enact(forget, true).then(() => ledger.erasing);
      void gone.then(tabs.tell);
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
    getToken: (more) =>
      act(async () => {
        waiting++;
        let off = () => {};
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
        await (granted && ledger.drained());
        if (closed || !granted) throw lack();
        flight.nobody = false;
        const reason = o.refresh === 'off' ? 'empty' : needOf(phase(), undefined);
        if (reason && !o.provide) throw lack();
        if (!reason && !flight.up && now() < tryAtOf(runNow(), 0, true))
          throw lastError ?? new TokenError('network', 'tried too often');
        const before = ledger.record;
        const error = await flight.takeOff(reason, true);
        if (error || ledger.record.ended || !tokenNow()) throw error ?? lack();
        // Another tab was at it, and has brought nothing.
        if (!reason && isSame(ledger.record, before)) throw lastError ?? new TokenError('network', 'no newer set');
      }),
    on,
    subscribe: (listener) => on('change', listener),
    close: () => {
      closed = true;
      flight.giveUp();
      schedule.close();
      // A logout that is being written still reaches the other tabs.
      void ledger.close(granted).then(tabs.part);
      settle();
    },
  };
};
