/** Refreshes of the set: when the next one starts, how long it may take, and the pause after one that has failed. */

import type { TokenSet } from '../token/token-set.ts';
import { type Effects, type Outcome, pauseOf } from './state.ts';

const TIMEOUT_MS = 60_000;
/** The pauses after answers that say neither yes nor no; the answer after the last one ends the set. */
const REFUSED_PAUSES_MS = [30_000, 120_000, 600_000];
const MIN_PAUSE_MS = 30_000;
const DUE_ON_ARRIVAL_MS = 60_000;
const DAY_MS = 86_400_000;

export class Refreshing {
  /** The service's clock minus this device's, ms; 0 within a minute. */
  offsetMs = 0;
  /** The service no longer accepts the set. */
  isRefused = false;
  private running: number | undefined;
  private starts = 0;
  private endsAt = 0;
  private failures = 0;
  private refusals = 0;
  /** No refresh starts before these instants. `resume` ends only the pause after a failure, not one for which the service asks. */
  private retryAt = 0;
  private notBefore = 0;

  constructor(
    private readonly effects: Effects,
    private readonly clock: () => number,
  ) {}

  get isRunning(): boolean {
    return this.running !== undefined;
  }

  /** The set or its user has changed: what is running belongs to the former one. */
  reset(): void {
    if (this.running !== undefined) this.effects.cancel(this.running);
    this.running = undefined;
    this.isRefused = false;
    this.failures = this.refusals = this.retryAt = this.notBefore = 0;
  }

  resume(): void {
    this.retryAt = 0;
  }

  /** When the next one starts; Infinity if none will. */
  dueAt(set: TokenSet | undefined, isAtOnce: boolean): number {
    if (!set || this.isRunning || this.isRefused) return Infinity;
    return Math.max(isAtOnce ? 0 : set.refreshAt - this.offsetMs, this.retryAt, this.notBefore);
  }

  start(set: TokenSet): void {
    this.endsAt = this.clock() + TIMEOUT_MS;
    this.running = ++this.starts;
    this.effects.refresh(this.running, set);
  }

  /** Returns whether the outcome counts. */
  ended(id: number, { kind, why, date, retryAfterMs = 0 }: Outcome): boolean {
    if (id !== this.running) return false;
    this.running = undefined;
    this.effects.log(`refresh: ${kind}${why && `, ${why}`}`);
    if (date) this.offsetMs = Math.abs(date - this.clock()) < 60_000 ? 0 : date - this.clock();
    if (kind === 'success' || kind === 'optout') return true;
    const pauseMs = kind === 'refused' ? REFUSED_PAUSES_MS[this.refusals++] : 0;
    this.isRefused = kind === 'ended' || pauseMs === undefined;
    if (kind === 'failed') this.retryAt = this.clock() + pauseOf(this.failures++);
    this.notBefore = this.clock() + Math.max(pauseMs ?? 0, Math.min(retryAfterMs, DAY_MS));
    kind satisfies 'ended' | 'refused' | 'failed';
    return true;
  }

  wake(): void {
    if (this.running === undefined || this.clock() < this.endsAt) return;
    this.effects.cancel(this.running);
    this.ended(this.running, { kind: 'failed', why: 'timeout' });
  }

  nextAt(): number {
    return this.isRunning ? this.endsAt : Infinity;
  }

  /** A set that is due, or nearly due, on arrival is refreshed halfway to its expiry: endless requests would help nobody. */
  arrived({ refreshAt, expiresAt }: TokenSet): void {
    const now = this.clock() + this.offsetMs;
    if (refreshAt - now > Math.min(DUE_ON_ARRIVAL_MS, (expiresAt - refreshAt) / 20)) return;
    const at = Math.max((Math.max(refreshAt, now) + expiresAt) / 2, now + MIN_PAUSE_MS);
    this.notBefore = at - this.offsetMs;
  }
}
