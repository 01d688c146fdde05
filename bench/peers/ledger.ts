/** What the token services have seen: which refresh token they gave to which run, and each request that used one. */

/** One request for a refresh. */
export interface Refresh {
  readonly run: string;
  /** When it arrived, minus when the token was due, ms. Below 0: early. */
  readonly lateMs: number;
  /** Whether another request had used the same refresh token. A service that rotates them would refuse it. */
  readonly isReuse: boolean;
}

/** Created by {@link createLedger}. */
export interface Ledger {
  /** Note a refresh token that was issued, and when the access token beside it is due, epoch ms. */
  issued(refreshToken: string, run: string, dueAt: number): void;
  /** Note a request. A refresh token that was not noted is ignored. */
  refreshed(refreshToken: string): void;
  /** The requests of a run so far. */
  of(run: string): readonly Refresh[];
  /** When the first token of a run is due, epoch ms; undefined before a sign-in. */
  dueAt(run: string): number | undefined;
}

export function createLedger(): Ledger {
  const tokens = new Map<string, { readonly run: string; readonly dueAt: number; used: number }>();
  const refreshes: Refresh[] = [];
  return {
    issued: (refreshToken, run, dueAt) => void tokens.set(refreshToken, { run, dueAt, used: 0 }),
    refreshed: (refreshToken) => {
      const token = tokens.get(refreshToken);
      if (!token) return;
      refreshes.push({ run: token.run, lateMs: Date.now() - token.dueAt, isReuse: token.used++ > 0 });
    },
    of: (run) => refreshes.filter((one) => one.run === run),
    dueAt: (run) => [...tokens.values()].find((token) => token.run === run)?.dueAt,
  };
}
