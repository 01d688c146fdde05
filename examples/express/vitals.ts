import { Counter, Histogram, Registry } from 'prom-client';
import { vitalsHandler } from 'tessera-id/server';
import { toNodeListener } from 'tessera-id/server/node';

export const metrics = new Registry();
const registers = [metrics];
const views = new Counter({
  name: 'page_views_total',
  help: 'Page views with and without a token, and why not',
  labelNames: ['token', 'reason'],
  registers,
});
const times = new Histogram({
  name: 'page_token_seconds',
  help: 'From the start of a page view to its first token',
  labelNames: ['cause'],
  buckets: [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10],
  registers,
});

/** Counts the reports of `tessera-vitals.js`. */
export const vitals = toNodeListener(
  vitalsHandler({
    record: (report) => {
      const full = 'calls' in report ? report : undefined;
      const had = full?.auctionHadToken ?? full?.tokenMs !== undefined;
      const reason = had ? '' : (report.waitingFor ?? full?.lastError ?? full?.nextReason ?? '');
      views.inc({ token: had ? 'yes' : 'no', reason });
      if (full?.tokenMs !== undefined) times.observe({ cause: full.cause ?? '' }, full.tokenMs / 1000);
    },
  }),
);
