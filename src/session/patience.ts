/**
 * When the service may be called again after a failure: back-off after outages, few and far-apart tries after refusals,
 * and a budget that holds whatever happens. Pure: the run of tries is part of the record, so all tabs share it.
 */

import type { TokenError } from '../token/errors.ts';
import type { Phase } from '../token/phase.ts';
import type { NeedReason } from './events.ts';
import type { Settings } from './options.ts';
import type { Run, SessionRecord } from './record.ts';

/** Spacing of tries after the service, or its answer, was at fault; after the last of them a new set is needed. */
const SPACED_MS = [30_000, 120_000, 600_000];

/**
 * The distance from call number `tries` to the next: none for the first ones, which follow each other as the back-off has
 * it. 5 and 10 calls in the first 30 minutes, 15 in 30 minutes ever after.
 */
const distanceMs = (tries: number): number => (tries < 5 ? 0 : tries < 15 ? 180_000 : 125_000);

/** A run is over when it is a day old, or from the future: a clock was set. No pause is longer, whoever asks for one. */
const LONGEST_MS = 86_400_000;

/** A page that wakes up tries again within this, at random: all pages of a device wake up at once. */
export const WAKE_SPREAD_MS = 2_000;

/** The network of a device that has woken up needs this long: failures before say nothing about the service. */
const WAKING_MS = 30_000;
/** So they wait no longer than the back-off does after so many failures, and it goes on from there. */
const WAKING_STEPS = 2;

/** Whether a failure is the fault of the service or its answer, so that tries are few and far apart; else it will pass. */
export function isRefusal({ status = 500 }: TokenError): boolean {
  return status < 500 && ![408, 425, 429].includes(status);
}

/** The pause after an outage: a random part of a span that doubles with each try, so that pages do not come back all at once. */
export function backOffMs({ firstMs, maxMs }: Settings, tries: number): number {
  return Math.random() * Math.min(maxMs, firstMs * 2 ** tries);
}

/** The run of a record, where it still counts at `t` (local epoch ms). */
export function runOf({ run }: SessionRecord, t: number): Run | undefined {
  return run && t >= run.triedAt && t < run.triedAt + LONGEST_MS ? run : undefined;
}

/** Why a new set is needed in a phase, if it is: the service may refuse a set so often. */
export function needOf(phase: Phase, run: Run | undefined): NeedReason | undefined {
  return phase === 'empty' || phase === 'ended'
    ? phase
    : run && run.refusals > SPACED_MS.length
      ? 'refused'
      : undefined;
}

/**
 * From when on (local epoch ms) the set may be sent.
 *
 * @param soonAt   of a page that woke up: a run that nobody has tried since is tried then.
 * @param isAsked  the page wants it now: only what holds for everybody keeps it waiting.
 */
export function tryAtOf(run: Run | undefined, soonAt: number, isAsked?: unknown): number {
  if (!run) return 0;
  const { triedAt, waitMs, leastMs, refusals } = run;
  const waitAt = refusals || triedAt > soonAt - WAKE_SPREAD_MS ? triedAt + waitMs : Math.min(triedAt + waitMs, soonAt);
  return Math.max(triedAt + leastMs, isAsked ? 0 : waitAt);
}

/** Somebody is at it at `t`, or was `ms` ago and has not come back. */
export function isTaken(run: Run | undefined, t: number, ms: number): boolean {
  return run?.waitMs === 0 && t < run.triedAt + ms;
}

/** A call begins at `t`. What the service has refused before does not count where the page asks for it. */
export function begun(run: Partial<Run> | undefined, t: number, isAsked: unknown): Run {
  const { tries = 0, steps = 0, refusals = 0 } = run ?? {};
  return {
    tries: tries + 1,
    steps,
    refusals: isAsked ? 0 : refusals,
    triedAt: t,
    waitMs: 0,
    leastMs: distanceMs(tries + 1),
  };
}

/** The call has failed at `t`. */
export function failed(run: Run, error: TokenError, settings: Settings, t: number, soonAt: number): Run {
  const refused = isRefusal(error);
  const steps = t < soonAt + WAKING_MS ? Math.min(run.steps, WAKING_STEPS) : run.steps;
  const tookMs = t - run.triedAt;
  return {
    ...run,
    steps: steps + +!refused,
    refusals: run.refusals + +refused,
    // Where the budget keeps everybody waiting, some wait somewhat longer.
    waitMs: refused
      ? tookMs + (SPACED_MS[run.refusals] ?? 0)
      : Math.max(tookMs + backOffMs(settings, steps), run.leastMs * (1 + Math.random() / 8)),
    leastMs: Math.max(run.leastMs, tookMs + Math.min(error.retryAfterMs ?? 0, LONGEST_MS)),
  };
}
