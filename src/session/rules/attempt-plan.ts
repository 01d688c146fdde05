/** What a session can attempt to get a token: a refresh, or a call of `provide`. */

/** Why a new set is needed: there is none, the refresh token has ended, or the service keeps refusing it. */
export type NeedReason = 'empty' | 'ended' | 'refused';

/** A refresh of the set in force. */
export interface RefreshPlan {
  readonly kind: 'refresh';
  /** The page called `refresh()`: back-off and earlier refusals do not delay it. */
  readonly isExplicit: boolean;
  /** Another tab has held the lock for too long: the lease in the record decides. */
  readonly ignoresLock: boolean;
}

/** A call of `provide`. */
export interface ProvidePlan {
  readonly kind: 'provide';
  readonly reason: NeedReason;
  /** As for a refresh. */
  readonly ignoresLock: boolean;
}

/** An attempt to get a token. */
export type AttemptPlan = RefreshPlan | ProvidePlan;

/** The attempt in progress. */
export interface AttemptInProgress {
  readonly plan: AttemptPlan;
  /** Generation of the record when it started; another one makes it void. */
  readonly generation: number;
  /** Local epoch ms. */
  readonly startedAt: number;
}
