/** One test for each world: the story, told with a build in an engine. */

import { appendFile } from 'node:fs/promises';
import type { BrowserContext } from 'playwright-core';
import { afterAll, beforeAll, describe, inject, type TestContext, test } from 'vitest';
import { type OnEnd, openProfile } from '../support/browser.ts';
import { areAllRequired, type Engine, type EngineKind, type Tab } from '../support/engine.ts';
import { type Build, serveWorld } from './site.ts';
import { tell } from './story.ts';
import { testVitals } from './vitals.ts';
import { testWorker } from './worker.ts';
import type { Place, World } from './world.ts';
import { worlds } from './worlds.ts';

interface Browser {
  readonly name: NonNullable<World['engines']>[number];
  readonly pid?: number | undefined;
  /** Open two tabs of one profile. */
  openTabs(onEnd: OnEnd): Promise<[Tab, Tab]>;
}

/** A tab of the headless shell. Expressions run through the protocol itself, which needs no builtin of the page. */
const shellTab = async (profile: BrowserContext): Promise<Tab> => {
  const page = await profile.newPage();
  const wire = await profile.newCDPSession(page);
  return {
    errors: [],
    goto: async (url) => void (await page.goto(url)),
    evaluate: async <T>(expression: string) => {
      const how = { expression, awaitPromise: true, returnByValue: true };
      const { result, exceptionDetails } = await wire.send('Runtime.evaluate', how);
      if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
      return result.value as T;
    },
    close: () => page.close(),
  };
};

export const shellTabs = async (profile: BrowserContext): Promise<[Tab, Tab]> => [
  await shellTab(profile),
  await shellTab(profile),
];

/** Chromium's headless shell: a profile of its own in the browser that all test files share. */
export const shell: Browser = {
  name: 'shell',
  openTabs: async (onEnd) => shellTabs(await openProfile(onEnd)),
};

/** Whether a world runs at a place. */
const runsAt = ({ in: places = [] }: World, place: Place): boolean => {
  if (process.env['WORLDS'] !== 'all' || place === 'npm test' || place === 'oldest') return places.includes(place);
  return place !== 'tag' || !places.includes('npm test');
};

/** Define the tests of the worlds that run at a place. */
export const testWorlds = (
  place: Place,
  build: Build,
  name: Browser['name'] = 'shell',
  browser: (skip: TestContext['skip']) => Browser = () => shell,
): void => {
  describe(build, () => {
    // Those that run alone come last.
    const ordered = [...worlds].sort((one, other) => Number(!!one.isAlone) - Number(!!other.isAlone));
    for (const world of ordered) {
      const { builds = [build], engines = [name], isAlone } = world;
      if (!runsAt(world, place) || !builds.includes(build) || !engines.includes(name)) continue;
      // Whole browsers take several times as long for several worlds at once.
      const how = isAlone || name !== 'shell' ? test : test.concurrent;
      how(
        world.name,
        async ({ onTestFinished, skip }) => {
          const { openTabs, pid } = browser(skip);
          const tabs = await openTabs(onTestFinished);
          const site = await serveWorld(world, build, onTestFinished);
          await tell({ world, build, site, tabs, pid, skip, engine: name, errors: [] });
        },
        240_000,
      );
    }
  });
};

/** Define the tests of a whole engine, which tells the story with the script tag. */
export const testWorldsIn = (kind: EngineKind): void => {
  const missing = inject('missingEngines')[kind.name];
  describe.skipIf(missing && !areAllRequired)(kind.name, () => {
    let engine: Engine;
    beforeAll(async () => {
      if (missing) throw new Error(`${kind.name} is not on this machine: install ${missing}`);
      engine = await kind.launch();
      await appendFile(inject('engineLog'), `${kind.name} ${engine.version}\n`);
    });
    afterAll(() => engine?.close());
    // One profile for all: each world has an origin of its own.
    const openTabs = async (onEnd: OnEnd): Promise<[Tab, Tab]> => {
      const tabs = [await engine.open(), await engine.open()] as [Tab, Tab];
      for (const tab of tabs) onEnd(() => tab.close().catch(() => {}));
      return tabs;
    };
    testWorlds(kind.name, 'tag', kind.name, () => ({ name: kind.name, pid: engine.pid, openTabs }));
    testWorker(openTabs);
    testVitals(openTabs);
  });
};
