/**
 * The scenarios of `scenarios.ts` with the drop-in. Where the environment variable TESSERA_INCUMBENT names the script-tag file
 * of the ecosystem's own browser SDK, they also run with it: that measures what docs/migration.md says of it.
 */

import { readFileSync } from 'node:fs';
import { IDBFactory } from 'fake-indexeddb';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Callback, installUid2 } from '../../../src/page/uid2/index.ts';
import { createFixture, restoreGlobals, rotate } from '../../session/fixtures.ts';
import { until, useFakeClock } from '../../support/clock.ts';
import { clearPlaces } from './fixtures.ts';
import { installIncumbent, requestThrough } from './incumbent.ts';
import { type Sdk, scenarios, type World } from './scenarios.ts';

const INCUMBENT = process.env['TESSERA_INCUMBENT'];
const opened: Sdk[] = [];

const createWorld = (install: () => Sdk): World => {
  const fixture = createFixture(rotate);
  vi.stubGlobal('fetch', fixture.fetch);
  vi.stubGlobal('XMLHttpRequest', requestThrough(fixture.fetch));
  const events: string[] = [];
  const note: Callback = (event, payload) => {
    const token = payload?.identity?.['advertising_token'];
    events.push(token ? `${event} ${token}` : event);
  };
  const open = (callbacks: Callback[]): Sdk => {
    window.__uid2 = { callbacks };
    const sdk = install();
    opened.push(sdk);
    return sdk;
  };
  return {
    load: () => {
      // Version 4 of the SDK has no such method.
      opened.at(-1)?.abort?.();
      events.length = 0;
      return open([note]);
    },
    openOther: () => {
      // Another host has a database and channels of its own.
      vi.stubGlobal('indexedDB', new IDBFactory());
      vi.stubGlobal('BroadcastChannel', undefined);
      return open([]);
    },
    complete: () => until(() => events.some((event) => event.startsWith('InitCompleted')), 'InitCompleted'),
    events,
    serve: fixture.serve,
    sent: fixture.sent,
    advance: fixture.advance,
    settle: fixture.settle,
  };
};

beforeEach(() => {
  useFakeClock();
  vi.stubGlobal('indexedDB', new IDBFactory());
});
afterEach(async () => {
  for (const sdk of opened.splice(0)) sdk.abort?.();
  clearPlaces();
  delete window.__uid2;
  await restoreGlobals();
});

describe('with the drop-in', () => {
  test.each(Object.entries(scenarios))('%s', async (_, { run, here }) => {
    expect(await run(createWorld(() => installUid2()))).toEqual(here);
  });
});

describe.runIf(INCUMBENT)('with the SDK that it replaces', () => {
  test.each(Object.entries(scenarios))('%s', async (_, { run, former, former3 = former }) => {
    let version = '';
    const install = () => {
      const sdk = installIncumbent(INCUMBENT!);
      version = sdk.constructor.VERSION;
      return sdk;
    };
    const observed = await run(createWorld(install));
    expect(observed).toEqual(version.startsWith('3.') ? former3 : former);
  });
});

describe('docs/migration.md', () => {
  const text = readFileSync('docs/migration.md', 'utf8');
  const [, section = ''] = text.split('## What differs, and why\n');
  const rows = section
    .split('\n## ')[0]!
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .slice(2)
    .map((line) => line.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, '')));
  const differing = Object.values(scenarios).filter(({ here, former }) => here !== former);

  test('each row states one difference', () => {
    expect(rows.length).toBeGreaterThan(15);
    for (const row of rows) expect([row[0], row.length, row.join().includes(';')]).toEqual([row[0], 3, false]);
  });

  test('each scenario whose observations differ has its row, and each row such a scenario', () => {
    expect(differing.map(({ row }) => row).toSorted()).toEqual(rows.map(([what]) => what).toSorted());
    for (const { row, here, former } of differing) expect([row, former]).not.toEqual([row, here]);
  });

  test('a scenario without a difference has no row', () => {
    const same = Object.values(scenarios).filter((scenario) => !differing.includes(scenario));
    expect(same.filter(({ row }) => row)).toEqual([]);
  });

  test('the README states how many scenarios there are', () => {
    expect(readFileSync('README.md', 'utf8')).toContain(`${Object.keys(scenarios).length} scenarios`);
  });
});
