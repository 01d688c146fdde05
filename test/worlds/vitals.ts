/**
 * The report of each page view, in a whole browser: exactly one, and true. What each value means: test/page/vitals.test.ts.
 *
 * `npx vitest run --reporter=verbose test/worlds -t 'each page view'` prints the reports.
 */

import { expect, type TestContext, test } from 'vitest';
import { type VitalsReport, vitalsHandler } from '../../src/server/index.ts';
import type { OnEnd } from '../support/browser.ts';
import type { Tab } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { OPEN_LATE } from './late.ts';
import { serveWorld, type WorldSite } from './site.ts';
import { frozen, goElsewhere, inCache } from './whole-pages.ts';
import type { World } from './world.ts';

interface PageView {
  readonly site: WorldSite;
  readonly tab: Tab;
  readonly other: Tab;
  readonly skip: TestContext['skip'];
  /** Leave the page; returns all reports so far. */
  leave(count: number): Promise<readonly VitalsReport[]>;
}

interface Case {
  /** What the page's server does. */
  readonly publisher?: World['publisher'];
  readonly early?: string;
  /** Returns the last report, or all of them. */
  readonly view: (page: PageView) => Promise<unknown>;
  readonly expected: unknown;
}

const until = (tab: Tab, expression: string) =>
  eventually(expression, () => tab.evaluate<boolean>(expression), Boolean);
const HAS_TOKEN = '!!seen.read()';
const FIRST_VISIT = { integration: 'script', navigation: 'navigate', cause: 'provide', persistence: 'indexeddb' };
const state = (expected: string) => `seen.session.state.${expected}`;

const CASES: Readonly<Record<string, Case>> = {
  'a first visit': {
    view: async ({ tab, leave }) => {
      await until(tab, HAS_TOKEN);
      return leave(1);
    },
    expected: [{ ...FIRST_VISIT, phase: 'fresh', calls: { provide: 1, refresh: 0, failed: 0 } }],
  },
  'a store that is late': {
    early: OPEN_LATE,
    view: async ({ tab, site, leave }) => {
      await until(tab, HAS_TOKEN);
      await tab.evaluate('void (localStorage.lateMs = 4000)');
      await leave(1);
      await tab.goto(site.page);
      await until(tab, state('persistence === "memory"'));
      await until(tab, state('persistence === "indexeddb"'));
      await tab.evaluate('void localStorage.removeItem("lateMs")');
      return (await leave(2)).slice(1);
    },
    expected: [{ lateStoreMs: expect.any(Number), persistence: 'indexeddb', phase: 'fresh' }],
  },
  'an outage of the page’s server': {
    publisher: async () => new Response(null, { status: 503 }),
    view: async ({ tab, leave }) => {
      await until(tab, state('next.reason === "back_off"'));
      return leave(1);
    },
    expected: [
      {
        lastError: 'provide_failed',
        nextReason: 'back_off',
        phase: 'empty',
        calls: { provide: 1, refresh: 0, failed: 1 },
      },
    ],
  },
  'a page that is left while its server works': {
    publisher: () => new Promise(() => {}),
    view: async ({ tab, leave }) => {
      await until(tab, state('waitingFor === "provide"'));
      return leave(1);
    },
    expected: [{ waitingFor: 'provide', nextReason: 'in_progress', calls: { provide: 1, refresh: 0, failed: 0 } }],
  },
  'a logout in another tab': {
    view: async ({ tab, other, site, leave }) => {
      await until(tab, HAS_TOKEN);
      await other.goto(site.page);
      await until(other, HAS_TOKEN);
      await other.evaluate('seen.session.clear()');
      await until(tab, state('phase === "empty"'));
      return leave(1);
    },
    expected: [{ cause: 'provide', phase: 'empty', nextReason: 'host' }],
  },
  'a page that comes back from the cache': {
    early: `addEventListener('pageshow', ({ persisted }) => (window.isBack = persisted));`,
    view: async ({ tab, skip, leave }) => {
      await until(tab, HAS_TOKEN);
      await inCache({ skip } as never, tab, async () => {});
      await until(tab, HAS_TOKEN);
      return leave(2);
    },
    expected: [FIRST_VISIT, { navigation: 'back_forward_cache', cause: 'load', phase: 'fresh' }],
  },
  // Chromium hides a page before it freezes it: the page view ends there.
  'a page that was frozen during a logout in another tab': {
    early: `addEventListener('resume', () => (window.isBack = true), true);`,
    view: async ({ tab, other, site, skip, leave }) => {
      if (!tab.setFrozen) return skip('its driver cannot freeze a page');
      await until(tab, HAS_TOKEN);
      await other.goto(site.page);
      await until(other, HAS_TOKEN);
      await frozen({} as never, tab, () => other.evaluate('seen.session.clear()'));
      await until(tab, state('phase === "empty"'));
      return leave(1);
    },
    expected: [{ ...FIRST_VISIT, phase: 'fresh', nextReason: 'refresh_from' }],
  },
};

export const testVitals = (openTabs: (onEnd: OnEnd) => Promise<[Tab, Tab]>): void => {
  test.for(Object.keys(CASES))(
    'each page view sends one report, and it is true: %s',
    async (name, { annotate, onTestFinished, skip }) => {
      const { publisher, early, view, expected } = CASES[name]!;
      const reports: VitalsReport[] = [];
      const world: World = {
        name,
        tag: (tag) => `<script src="/tessera-vitals.js" data-to="/vitals"></script>${tag}`,
        routes: {
          '/vitals': vitalsHandler({ record: (report) => reports.push(report as VitalsReport) }),
          '/elsewhere': () => new Response('<!doctype html>', { headers: { 'content-type': 'text/html' } }),
        },
        ...(publisher && { publisher }),
        ...(early && { early }),
      };
      const [tab, other] = await openTabs(onTestFinished);
      const site = await serveWorld(world, 'tag', onTestFinished);
      site.user = 'ann';
      await tab.goto(site.page);
      await until(tab, '!!seen.session');
      const leave = async (count: number) => {
        // Not by the driver: after a page was restored, Firefox's never reports the end of the next navigation.
        await goElsewhere(tab);
        await eventually(
          'the report',
          async () => reports.length,
          (length) => length >= count,
        );
        expect(reports).toHaveLength(count);
        return reports;
      };
      expect(await view({ site, tab, other, skip, leave })).toMatchObject(expected as object);
      for (const report of reports) await annotate(JSON.stringify(report), 'report');
    },
  );
};
