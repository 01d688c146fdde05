/** Timed return visits: the time to the token, and how long the main thread is busy until then. */

import type { BrowserContext, CDPSession, Page } from 'playwright-core';
import type { Visited } from './pages/visit.ts';
import type { PageName } from './peers.ts';
import type { Comparison } from './site.ts';

/** One event of Chromium's trace. `ts` and `dur` are microseconds. */
interface TraceEvent {
  readonly name: string;
  readonly cat: string;
  readonly pid: number;
  readonly tid: number;
  readonly ts: number;
  readonly dur?: number;
}

const CATEGORIES = ['toplevel', 'blink.user_timing', 'disabled-by-default-devtools.timeline'];

/** Throttle the CPU of a page. */
const throttle =
  (rate: number) =>
  async (page: Page): Promise<void> => {
    const cdp = await page.context().newCDPSession(page);
    await cdp.send('Emulation.setCPUThrottlingRate', { rate });
  };

/** Return visits of one page in its own profile. */
export interface Visitor {
  readonly name: PageName;
  /** Visit once. Returns ms from the first byte of the script that runs to the token. */
  tokenMs(throttling: number): Promise<number>;
  /** Visit once with a trace. Returns ms of the main thread between the same two. */
  mainThreadMs(throttling: number): Promise<number>;
}

/** Sign in on a page and return its visitor. */
export async function startVisitor(comparison: Comparison, name: PageName): Promise<Visitor> {
  const profile = await comparison.profile();
  const visit = { page: name, run: `visits-${name}` };
  await (await comparison.open(profile, { ...visit, signIn: true })).close();
  return {
    name,
    tokenMs: async (throttling) => {
      const page = await comparison.open(profile, visit, throttle(throttling));
      const ms = await page.evaluate(() => {
        const { startedAt, doneAt } = window as never as Visited;
        return doneAt - startedAt;
      });
      await page.close();
      return ms;
    },
    mainThreadMs: async (throttling) => {
      const stop = await startTrace(profile);
      const page = await comparison.open(profile, visit, throttle(throttling));
      const events = await stop();
      await page.close();
      return busyMs(events);
    },
  };
}

/** Start a trace of the browser; the function that is returned ends it. */
async function startTrace(profile: BrowserContext): Promise<() => Promise<readonly TraceEvent[]>> {
  const cdp: CDPSession = await profile.browser()!.newBrowserCDPSession();
  const events: TraceEvent[] = [];
  cdp.on('Tracing.dataCollected', ({ value }) => events.push(...(value as never as TraceEvent[])));
  await cdp.send('Tracing.start', {
    transferMode: 'ReportEvents',
    traceConfig: { includedCategories: CATEGORIES, excludedCategories: ['*'] },
  });
  return async () => {
    const ended = new Promise<void>((resolve) => cdp.once('Tracing.tracingComplete', () => resolve()));
    await cdp.send('Tracing.end');
    await ended;
    await cdp.detach();
    return events;
  };
}

/** Sum the tasks of the page's main thread between the marks `started` and `token`, ms. */
function busyMs(events: readonly TraceEvent[]): number {
  const mark = (name: string): TraceEvent => {
    const found = events.find((event) => event.name === name && event.cat.includes('blink.user_timing'));
    if (!found) throw new Error(`peers: expected the mark ${name} in the trace, found none of ${events.length} events`);
    return found;
  };
  const [start, end] = [mark('started'), mark('token')];
  let [busy, until] = [0, start.ts];
  const tasks = events.filter(({ name, pid, tid }) => name === 'RunTask' && pid === start.pid && tid === start.tid);
  for (const { ts, dur = 0 } of tasks.sort((a, b) => a.ts - b.ts)) {
    // Tasks may contain others.
    const [from, to] = [Math.max(ts, until), Math.min(ts + dur, end.ts)];
    if (to <= from) continue;
    busy += to - from;
    until = to;
  }
  return busy / 1000;
}
