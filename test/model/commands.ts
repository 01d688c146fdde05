/** What may happen in a world, as commands that fast-check makes, runs and shrinks. */

import fc from 'fast-check';
import type { DiskBlow, DiskFault } from './disk.ts';
import type { Consent } from './gate.ts';
import { NET_FAULTS, type NetFault } from './network.ts';
import { PROVIDE_FAULTS, type ProvideFault } from './publisher.ts';
import { DAY, HOUR, MINUTE, type Setup } from './referee.ts';
import type { World } from './world.ts';

type Model = Record<string, never>;
type Command = fc.AsyncCommand<Model, World>;

const USERS = ['ann', 'bob'] as const;
type User = (typeof USERS)[number];

/** A command: what it is called, what it does, and how long passes before the next. */
const command = (what: string, afterMs: number, act: (world: World) => unknown): Command => ({
  check: () => true,
  toString: () => `${what}; ${afterMs} ms`,
  run: async (_, world) => {
    await act(world);
    await world.pass(afterMs, what);
    if (world.faults.length) throw new Error(`${what}:\n  ${world.faults.join('\n  ')}`);
  },
});

/** Do something with a tab that can be asked, if there is one at this place. */
const withTab =
  (place: number, act: (world: World, tab: NonNullable<ReturnType<World['at']>>) => unknown, anyState = false) =>
  async (world: World) => {
    const tab = world.at(place);
    if (tab && (anyState || world.isUp(tab))) await act(world, tab);
  };

const place = fc.nat({ max: 7 });
const user = fc.constantFrom<User>(...USERS);
/** Short spans, in which things overlap, and long ones, in which tokens fall due and expire. */
const after = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(0, 1, 5, 20, 60, 150, 400) },
  { weight: 3, arbitrary: fc.constantFrom(1_500, 4_000, 12_000, 40_000) },
  { weight: 2, arbitrary: fc.constantFrom(5 * MINUTE, 16 * MINUTE, 35 * MINUTE, 70 * MINUTE) },
);
const span = fc.constantFrom(20_000, 10 * MINUTE, 50 * MINUTE, 8 * HOUR);
const step = fc.constantFrom(HOUR, -HOUR, 2 * HOUR, -2 * HOUR, DAY, -DAY, 40 * DAY, -40 * DAY, 7_000, -7_000);
const netFault = fc.constantFrom<NetFault>(...NET_FAULTS, 'none', 'none', 'none', 'slow', 'slow');
const provideFault = fc.constantFrom<ProvideFault>(...PROVIDE_FAULTS, 'none', 'none', 'none');
const diskFault = fc.constantFrom<DiskFault>(
  'openFails',
  'openFailsOnce',
  'openThrows',
  'openHangs',
  'hangs',
  'slow',
  'full',
  'none',
  'none',
  'none',
);
const blow = fc.constantFrom<DiskBlow>('lost', 'closed', 'wiped', 'deleted', 'corrupt');

const consent = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom<Consent>('none', 'yes') },
  { weight: 3, arbitrary: fc.constantFrom<Consent>('pending', 'promised') },
  { weight: 1, arbitrary: fc.constantFrom<Consent>('no', 'fails') },
);
const refresh = fc.constantFrom('auto', 'auto', 'auto', 'auto', 'off');

const opening = fc
  .tuple(fc.boolean(), fc.option(fc.oneof(user, fc.nat({ max: 5 })), { freq: 2 }), consent, refresh, after)
  .map(([visible, tokens, asked, refreshes, ms]) =>
    command(
      `open ${visible ? 'a' : 'a hidden'} tab with consent ${asked} and refresh ${refreshes}${tokens === null ? '' : ` rendered with ${typeof tokens === 'number' ? 'old set' : 'a set of'} ${tokens}`}`,
      ms,
      async (world) => {
        if (world.tabs.length >= 8) return;
        const more = { visible, consent: asked, refresh: refreshes } as const;
        if (typeof tokens === 'string') world.open({ ...more, ...(await world.answerFor(tokens)) });
        else {
          const answer = tokens === null ? undefined : world.answers[tokens];
          world.open({ ...more, answer, root: answer ? tokens! : undefined });
        }
      },
    ),
  );

const supplying = fc.tuple(place, user, after).map(([at, who, ms]) =>
  command(
    `tab ${at}: setTokens of ${who}`,
    ms,
    withTab(at, async (world, tab) => {
      const { answer, root } = await world.answerFor(who);
      world.setTokens(tab, answer, root);
    }),
  ),
);
const supplyingAgain = fc.tuple(place, fc.nat({ max: 5 }), after).map(([at, root, ms]) =>
  command(
    `tab ${at}: setTokens of old set ${root}`,
    ms,
    withTab(at, (world, tab) => {
      const answer = world.answers[root];
      if (answer) world.setTokens(tab, answer, root);
    }),
  ),
);
const simple = (what: string, act: Parameters<typeof withTab>[1], anyState = false) =>
  fc.tuple(place, after).map(([at, ms]) => command(`tab ${at}: ${what}`, ms, withTab(at, act, anyState)));

const acts = fc.oneof(
  { weight: 5, arbitrary: supplying },
  { weight: 1, arbitrary: supplyingAgain },
  { weight: 4, arbitrary: simple('clear', (world, tab) => world.clear(tab)) },
  { weight: 4, arbitrary: simple('refresh', (world, tab) => world.refresh(tab)) },
  { weight: 2, arbitrary: simple('getToken', (world, tab) => world.getToken(tab, 10_000)) },
  { weight: 1, arbitrary: simple('getToken, 50 ms', (world, tab) => world.getToken(tab, 50)) },
  {
    weight: 1,
    arbitrary: simple('setTokens of an opt-out', (world, tab) => world.setTokens(tab, { status: 'optout' }, undefined)),
  },
  {
    weight: 1,
    arbitrary: simple('setTokens of nonsense', (_, tab) => {
      tab
        .hold('setTokens', 6000, tab.session.setTokens({ status: 'success', body: { advertising_token: 7 } }))
        .catch(() => {});
    }),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(user, after)
      .map(([who, ms]) => command(`${who} opts out at the service`, ms, (world) => world.service.optOut(who))),
  },
  {
    weight: 3,
    arbitrary: fc.tuple(place, fc.constantFrom(true, true, false), after).map(([at, granted, ms]) =>
      command(
        `tab ${at}: consent ${granted}`,
        ms,
        withTab(at, (world, tab) => world.consent(tab, granted)),
      ),
    ),
  },
  {
    weight: 1,
    arbitrary: simple('consent false, then close()', (world, tab) => {
      world.consent(tab, false);
      tab.close();
    }),
  },
);

const life = fc.oneof(
  { weight: 6, arbitrary: opening },
  simple('hide', (_, tab) => tab.page.hide()),
  simple('show', (world, tab) => world.wake(() => tab.page.show())),
  simple('freeze', (_, tab) => {
    tab.page.hide();
    tab.page.freeze();
  }),
  simple(
    'resume',
    (world, tab) => world.wake(() => tab.page.isFrozen && !tab.page.isCached && tab.thaw(() => tab.page.resume())),
    true,
  ),
  simple('to the cache', (_, tab) => tab.page.cache()),
  simple(
    'back from the cache',
    (world, tab) => world.wake(() => tab.page.isCached && tab.thaw(() => tab.page.restore())),
    true,
  ),
  simple('kill', (_, tab) => tab.page.kill(), true),
  simple('leave', (_, tab) => tab.page.leave(), true),
  simple('close()', (_, tab) => tab.close()),
  simple('timers stop', (_, tab) => tab.page.stopTimers(true)),
  simple('timers go on', (_, tab) => tab.page.stopTimers(false)),
);

const fate = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .tuple(netFault, after)
      .map(([fault, ms]) => command(`network: ${fault}`, ms, (world) => world.setNetwork(fault))),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(provideFault, after)
      .map(([fault, ms]) => command(`provide: ${fault}`, ms, (world) => world.setProvide(fault))),
  },
  {
    weight: 3,
    arbitrary: fc
      .tuple(diskFault, after)
      .map(([fault, ms]) => command(`disk: ${fault}`, ms, (world) => world.setDisk(fault))),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(blow, after)
      .map(([fault, ms]) => command(`disk: ${fault}`, ms, (world) => world.restoreGlobals(fault))),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(step, after)
      .map(([ms, then]) => command(`clock: ${ms} ms`, then, (world) => world.stepClock(ms))),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(span, after).map(([ms, then]) => command(`sleep: ${ms} ms`, then, (world) => world.sleep(ms))),
  },
  { weight: 1, arbitrary: after.map((ms) => command('online', ms, (world) => world.online())) },
  {
    weight: 4,
    arbitrary: fc.constantFrom(MINUTE, 20 * MINUTE, HOUR, 3 * HOUR).map((ms) => command('wait', ms, () => {})),
  },
);

const command20 = (what: string, act: (world: World) => unknown) => fc.constant(command(what, 20, act));

/** Everything that can happen. */
const wild: readonly fc.Arbitrary<Command>[] = [acts, acts, life, fate];
/** Acts of several tabs close together, on a device and a network where nothing is wrong but that they are slow. */
const close: readonly fc.Arbitrary<Command>[] = [
  acts,
  acts,
  opening,
  fc.oneof(
    command20('network: slow', (world) => world.setNetwork('slow')),
    command20('network: none', (world) => world.setNetwork('none')),
    command20('disk: slow', (world) => world.setDisk('slow')),
    command20('disk: none', (world) => world.setDisk('none')),
    fc.constantFrom(MINUTE, 16 * MINUTE, HOUR).map((ms) => command('wait', ms, () => {})),
  ),
];

export type Field = 'close' | 'wild';

/** Up to `most` commands of a field. */
export const commands = (field: Field, most: number) =>
  fc.commands([...(field === 'wild' ? wild : close)], { maxCommands: most, size: 'max' });

const leave = (most: 'works') => fc.constantFrom(most, most, most, 'missing' as const, 'refused' as const);

export const setups: fc.Arbitrary<Setup> = fc.record({
  seed: fc.integer({ min: 0, max: 2 ** 31 - 1 }),
  locks: leave('works'),
  channel: leave('works'),
  hasDisk: fc.constantFrom(true, true, true, true, true, false),
  isDateReadable: fc.boolean(),
  lifetimes: fc.constantFrom(
    { identityExpires: 3600, refreshFrom: 900, refreshExpires: 86_400 },
    { identityExpires: 14_400, refreshFrom: 3600, refreshExpires: 2_592_000 },
  ),
  stopsAsleep: fc.boolean(),
  hasProvide: fc.constantFrom(false, false, true),
  manner: fc.constantFrom(
    'plain' as const,
    'plain' as const,
    'throws' as const,
    'rejects' as const,
    'reenters' as const,
  ),
  looks: fc.boolean(),
});
