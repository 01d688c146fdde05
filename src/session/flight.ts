/**
 * The one flight of a page: it asks `provide` for a set, or refreshes the one that there is, as the only tab.
 *
 * It does not know when to start, nor what follows: the hub does, and is called back when the flight is over.
 */

import { isTokenError, TokenError } from '../token/errors.ts';
import type { TokenSet } from '../token/token-set.ts';
import { within } from './deadline.ts';
import type { Cause, NeedReason } from './events.ts';
import type { createLedger } from './ledger.ts';
import type { Settings } from './options.ts';
import { backOffMs, begun, failed, isRefusal, isTaken, runOf, tryAtOf, WAKE_SPREAD_MS } from './patience.ts';
import { type Act, answered, isSame, provided, type SessionRecord } from './record.ts';
import type { Outcome } from './refresh.ts';
import type { joinTabs } from './tabs.ts';

/** How much longer than its own deadline another tab's refresh is waited for. */
const PATIENCE_MS = 2_000;

/** What a flight leaves to the hub. */
export interface Ground {
  /** Send a set. */
  sendSet(set: TokenSet, signal: AbortSignal): Promise<Outcome>;
  /** Change the record, and see to what follows. */
  commitAct(act: Act, cause: Cause): Promise<void>;
  /** Take an answer from outside. */
  takeAnswer(answer: unknown, act: (set: TokenSet, now: number) => Act): Promise<void>;
  /** It has failed, for the first time since all was well, or by a refusal. */
  tellError(error: TokenError): void;
  /** A set is needed, and `provide` has none. */
  tellNeed(reason: NeedReason): void;
  /** It is over. */
  onLanded(): void;
}

/** The flight that is under way, and what is known of those before. */
export interface Flight {
  /** Gives up the flight that is under way. */
  up?: AbortController | undefined;
  /** Why `provide` is asked; undefined in a refresh. */
  need?: NeedReason | undefined;
  /** Wakes a flight that waits for another tab. */
  nudge?: () => void;
  /** A failure has been told since there was a new set. */
  failing?: boolean;
  /** Nobody is signed in: `provide` is left alone until a set comes another way, or `refresh()` is called. */
  nobody?: boolean;
  /** Flights of this page that went ahead and came to their end, since all was well. */
  turns: number;
  /** Local instant before which there is no other flight of this page. */
  notBefore: number;
  /** When this page, awake again, tries sooner than its back-off says. */
  soonAt: number;
  /** The page is awake again: one try soon, whatever the back-off says. */
  awaken(): void;
  /** Give up what is under way: its answer is not wanted any more. */
  giveUp(): void;
  /**
   * Start: ask `provide` where there is a reason to, else refresh.
   *
   * @param isAsked  the page wants it now, whatever went wrong before.
   * @returns  resolves when it is over, or the one that is under way, with the error that it failed with.
   */
  takeOff(reason?: NeedReason, isAsked?: boolean): Promise<TokenError | undefined>;
}

/** Make ready for flights. */
export function createFlight(
  o: Settings,
  ledger: ReturnType<typeof createLedger>,
  tabs: ReturnType<typeof joinTabs>,
  ground: Ground,
) {
  const { now, timeoutMs, provide } = o;
  /** Resolves when the flight is over, with the error that it failed with. */
  let landing: Promise<TokenError | undefined>;
  const flight: Flight = {
    turns: 0,
    notBefore: 0,
    soonAt: 0,

    awaken: () => {
      flight.soonAt = now() + Math.random() * WAKE_SPREAD_MS;
      flight.notBefore = Math.min(flight.notBefore, flight.soonAt);
    },

    giveUp: () => {
      flight.up?.abort();
      flight.up = undefined;
    },

    takeOff: (reason, isAsked) => {
      if (flight.up) return landing;
      const mine = new AbortController();
      const { signal } = mine;
      flight.up = mine;
      flight.need = reason;
      /** What is to be refreshed: if another tab has done so before the lock is here, that is that. */
      const before = ledger.record;
      /** What was sent, or is about to be. */
      let sent: SessionRecord | undefined;

      /** What `work` brings in time; ends at once where nobody wants it any more. */
      const wanted = <T>(work: Promise<T>, moreMs = 0): Promise<T> => within(timeoutMs + moreMs, work, signal);

      /** Read again, say so in the record, send, open, write. False where another is at it. */
      const exchange = async (hasLock: boolean): Promise<boolean> => {
        let isBusy = false;
        // Nobody waits any more for the lock to be given.
        if (signal.aborted) return true;
        await wanted(
          ledger.enact((record) => {
            const t = now();
            const run = runOf(record, t);
            // Without a lock, it is the record that says who is at it: as long as that may take, and no longer.
            isBusy = !hasLock && isTaken(run, t, timeoutMs + PATIENCE_MS);
            // Another tab was faster, or has failed meanwhile, or there is nothing to send.
            sent =
              isBusy || !record.set || !isSame(record, before) || t < tryAtOf(run, flight.soonAt, isAsked)
                ? undefined
                : { ...record, run: begun(run, t, isAsked) };
            return sent ?? record;
          }, false),
        );
        if (!sent?.set) return !isBusy;
        const { word, dateMs } = await wanted(ground.sendSet(sent.set, signal));
        // Where another tab holds a newer set by now, this changes nothing, and that set is adopted.
        await ground.commitAct(answered(sent, word, dateMs, now()), 'refresh');
        return true;
      };

      const fail = async (error: TokenError) => {
        // All tabs wait now.
        if (
          sent &&
          (await ledger.enact(
            (record) =>
              record.run && isSame(record, sent!)
                ? { ...record, run: failed(record.run, error, o, now(), flight.soonAt) }
                : record,
            false,
          ))
        )
          tabs.tell();
        if (signal.aborted) return undefined;
        // A refusal is always told, of a run of outages only the first.
        if (!flight.failing || (!reason && isRefusal(error))) ground.tellError(error);
        flight.failing = true;
        if (reason) ground.tellNeed(reason);
        return error;
      };

      const fly = async (): Promise<TokenError | undefined> => {
        let error: TokenError | undefined;
        try {
          if (reason) {
            const answer = await wanted((async () => provide?.({ signal, reason }))());
            // Another tab may have logged the user in or out meanwhile: then this answer is late, and nobody's.
            await wanted(ledger.pull());
            // null, undefined, or a response 204: nobody is signed in.
            flight.nobody = !answer || (answer as Response).status === 204;
            if (flight.nobody) ground.tellNeed(reason);
            else await ground.takeAnswer(answer, provided(before));
          } else if (!(await tabs.alone(exchange))) {
            // Another tab is at it: look again when it tells, or when it must have given up.
            flight.turns--;
            const news = new Promise<void>((resolve) => (flight.nudge = resolve));
            await wanted(news, PATIENCE_MS).catch(() => {});
          }
        } catch (cause) {
          // What was thrown is not passed on: a parser in `provide` quotes what it chokes on.
          if (!signal.aborted) error = await fail(isTokenError(cause) ? cause : new TokenError('network'));
        }
        if (flight.up === mine) {
          flight.giveUp();
          // What is stored of a set that was sent says how long to wait, if the store has kept it. All is well, but for the
          // fourth time without a fresh set: each waits its turn.
          flight.notBefore = (error ? !sent || !ledger.record.run : flight.turns > 2)
            ? now() + backOffMs(o, flight.turns)
            : 0;
          flight.turns++;
        }
        // After a time-out the request is still under way.
        mine.abort();
        ground.onLanded();
        return error;
      };
      return (landing = fly());
    },
  };
  return flight;
}
