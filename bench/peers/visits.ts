/** Timed return visits: the time to the token, and how long the main thread is busy until then. */

import type { BrowserContext, Page } from 'playwright-core';
import type { PageName } from './list.ts';
import type { Visited } from './pages/visit.ts';
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

/** A visit at full speed ends within this time, ms. */
export const QUIET_MS = 200;

const CATEGORIES = ['blink.user_timing', 'disabled-by-default-devtools.timeline'];

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
  readonly profile: BrowserContext;
  /** Visit once. Returns ms from the end of the client's response, so that compiling it counts too, to the token. */
  tokenMs(throttling: number): Promise<number>;
}

/** Sign in on a page and return its visitor. */
export async function startVisitor(comparison: Comparison, name: PageName): Promise<Visitor> {
  const profile = await comparison.profile();
  const visit = { page: name, run: `visits-${name}` };
  await (await comparison.open(profile, { ...visit, signIn: true })).close();
  return {
    name,
    profile,
    tokenMs: async (throttling) => {
      const page = await comparison.open(profile, { ...visit, quietMs: QUIET_MS * throttling }, throttle(throttling));
      const ms = await page.evaluate(() => {
        const files = performance.getEntriesByType('resource') as PerformanceResourceTiming[];
        const client = files.find((file) => file.name.includes('/client/'))!;
        return (window as never as Visited).doneAt - client.responseEnd;
      });
      await page.close();
      return ms;
    },
  };
}

/** Events of the browser while `work` runs. Ending a trace takes seconds, so one trace spans many visits. */
async function traceOf(profile: BrowserContext, work: () => Promise<void>): Promise<readonly TraceEvent[]> {
  const cdp = await profile.browser()!.newBrowserCDPSession();
  const events: TraceEvent[] = [];
  cdp.on('Tracing.dataCollected', ({ value }) => events.push(...(value as never as TraceEvent[])));
  await cdp.send('Tracing.start', {
    transferMode: 'ReportEvents',
    traceConfig: { includedCategories: CATEGORIES, excludedCategories: ['*'] },
  });
  await work();
  const ended = new Promise<void>((resolve) => cdp.once('Tracing.tracingComplete', () => resolve()));
  await cdp.send('Tracing.end');
  await ended;
  await cdp.detach();
  return events;
}

/**
 * Trace visits that follow one another, and return for each, in ms, how long its main thread was busy between the script
 * before the client's and the token.
 */
export async function mainThreadOf(profile: BrowserContext, visits: () => Promise<void>): Promise<readonly number[]> {
  const events = [...(await traceOf(profile, visits))].sort((a, b) => a.ts - b.ts);
  const marks = (name: string) =>
    events.filter((event) => event.name === name && event.cat.includes('blink.user_timing'));
  const ends = marks('token');
  return marks('started').map((start) => {
    const end = ends.find(({ ts, pid }) => ts > start.ts && pid === start.pid);
    if (!end) throw new Error(`peers: expected the mark token after each start in the trace, found ${ends.length}`);
    return busyMs(events, start, end);
  });
}

/** Sum the tasks of the thread of `start` between two events, ms. */
function busyMs(events: readonly TraceEvent[], start: TraceEvent, end: TraceEvent): number {
  let [busy, until] = [0, start.ts];
  for (const { name, pid, tid, ts, dur = 0 } of events) {
    if (name !== 'RunTask' || pid !== start.pid || tid !== start.tid) continue;
    // Tasks may contain others.
    const [from, to] = [Math.max(ts, until), Math.min(ts + dur, end.ts)];
    if (to <= from) continue;
    busy += to - from;
    until = to;
  }
  return busy / 1000;
}
