/**
 * What may happen in a simulated profile, as commands that fast-check generates, runs and shrinks. It must not decide what is
 * right: a command calls one method of the profile, and fails where the profile has found faults.
 */

import fc from 'fast-check';
import type { Consent } from './consent.ts';
import type { Setup } from './invariants.ts';
import { ENDINGS, NET_FAULTS, type NetFault } from './network.ts';
import type { Profile } from './profile.ts';
import { PROVIDE_FAULTS, type ProvideFault } from './publisher.ts';
import type { StorageFault, StorageIncident } from './storage.ts';
import { DAY, HOUR, MINUTE } from './time.ts';

type Model = Record<string, never>;
type Command = fc.AsyncCommand<Model, Profile>;

const USERS = ['ann', 'bob'] as const;
type User = (typeof USERS)[number];

/** Build a command from its name, its action, and the time that passes afterwards. */
const command = (what: string, afterMs: number, action: (profile: Profile) => unknown): Command => ({
  check: () => true,
  toString: () => `${what}; ${afterMs} ms`,
  run: async (_, profile) => {
    await action(profile);
    await profile.pass(afterMs, what);
    if (profile.faults.length) throw new Error(`${what}:\n  ${profile.faults.join('\n  ')}`);
  },
});

/** Build an action on the tab at an index; it does nothing if that tab cannot run and `anyState` is not set. */
const withTab =
  (
    tabIndex: number,
    action: (profile: Profile, tab: NonNullable<ReturnType<Profile['at']>>) => unknown,
    anyState = false,
  ) =>
  async (profile: Profile) => {
    const tab = profile.at(tabIndex);
    if (tab && (anyState || profile.isRunning(tab))) await action(profile, tab);
  };

const tabIndex = fc.nat({ max: 7 });
const user = fc.constantFrom<User>(...USERS);
/** Short spans, in which operations overlap, and long ones, in which tokens fall due and expire. */
const after = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(0, 1, 5, 20, 60, 150, 400) },
  { weight: 3, arbitrary: fc.constantFrom(1_500, 4_000, 12_000, 40_000) },
  { weight: 2, arbitrary: fc.constantFrom(5 * MINUTE, 16 * MINUTE, 35 * MINUTE, 70 * MINUTE) },
);
const span = fc.constantFrom(20_000, 10 * MINUTE, 50 * MINUTE, 8 * HOUR);
const step = fc.constantFrom(HOUR, -HOUR, 2 * HOUR, -2 * HOUR, DAY, -DAY, 40 * DAY, -40 * DAY, 7_000, -7_000);
const netFault = fc.constantFrom<NetFault>(...NET_FAULTS, ...ENDINGS, 'none', 'none', 'none', 'slow', 'slow');
const provideFault = fc.constantFrom<ProvideFault>(...PROVIDE_FAULTS, 'none', 'none', 'none');
const storageFault = fc.constantFrom<StorageFault>(
  'openFails',
  'openFailsOnce',
  'openThrows',
  'openHangs',
  'hangs',
  'slow',
  'sluggish',
  'full',
  'readFails',
  'aborts',
  'none',
  'none',
  'none',
);
const kind = fc.constantFrom<StorageIncident>('lost', 'closed', 'wiped', 'deleted', 'emptied', 'corrupt', 'damaged');

const consent = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom<Consent>('none', 'yes') },
  { weight: 3, arbitrary: fc.constantFrom<Consent>('pending', 'promised', 'overtaken') },
  { weight: 1, arbitrary: fc.constantFrom<Consent>('no', 'fails') },
);
const refresh = fc.constantFrom('auto', 'auto', 'auto', 'auto', 'off');

const openTab = fc
  .tuple(fc.boolean(), fc.option(fc.oneof(user, fc.nat({ max: 5 })), { freq: 2 }), consent, refresh, after)
  .map(([visible, tokens, asked, refreshes, ms]) =>
    command(
      `open ${visible ? 'a' : 'a hidden'} tab with consent ${asked} and refresh ${refreshes}${tokens === null ? '' : ` rendered with ${typeof tokens === 'number' ? 'old set' : 'a set of'} ${tokens}`}`,
      ms,
      async (profile) => {
        if (profile.tabs.length >= 8) return;
        const more = { visible, consent: asked, refresh: refreshes } as const;
        if (typeof tokens === 'string') profile.open({ ...more, ...(await profile.answerFor(tokens)) });
        else {
          const answer = tokens === null ? undefined : profile.answers[tokens];
          profile.open({ ...more, answer, root: answer ? tokens! : undefined });
        }
      },
    ),
  );

const supply = fc.tuple(tabIndex, user, after).map(([at, who, ms]) =>
  command(
    `tab ${at}: setTokens of ${who}`,
    ms,
    withTab(at, async (profile, tab) => {
      const { answer, root } = await profile.answerFor(who);
      profile.setTokens(tab, answer, root);
    }),
  ),
);
const supplyAgain = fc.tuple(tabIndex, fc.nat({ max: 5 }), after).map(([at, root, ms]) =>
  command(
    `tab ${at}: setTokens of old set ${root}`,
    ms,
    withTab(at, (profile, tab) => {
      const answer = profile.answers[root];
      if (answer) profile.setTokens(tab, answer, root);
    }),
  ),
);
const simple = (what: string, action: Parameters<typeof withTab>[1], anyState = false, spans = after) =>
  fc.tuple(tabIndex, spans).map(([at, ms]) => command(`tab ${at}: ${what}`, ms, withTab(at, action, anyState)));

const optOut = simple('setTokens of an opt-out', (profile, tab) =>
  profile.setTokens(tab, { status: 'optout' }, undefined),
);

const operations = fc.oneof(
  { weight: 5, arbitrary: supply },
  { weight: 1, arbitrary: supplyAgain },
  { weight: 4, arbitrary: simple('clear', (profile, tab) => profile.clear(tab)) },
  {
    weight: 1,
    arbitrary: fc.tuple(tabIndex, user, after).map(([at, who, ms]) =>
      command(
        `tab ${at}: signIn of ${who}`,
        ms,
        withTab(at, (profile, tab) => profile.signIn(tab, who)),
      ),
    ),
  },
  { weight: 4, arbitrary: simple('refresh', (profile, tab) => profile.refresh(tab)) },
  { weight: 2, arbitrary: simple('getToken', (profile, tab) => profile.getToken(tab, 10_000)) },
  { weight: 1, arbitrary: simple('getToken, 50 ms', (profile, tab) => profile.getToken(tab, 50)) },
  { weight: 1, arbitrary: optOut },
  {
    weight: 1,
    arbitrary: simple('setTokens of nonsense', (_, tab) => {
      tab
        .expectSettled(
          'setTokens',
          6000,
          tab.session.setTokens({ status: 'success', body: { advertising_token: 7 } } as never),
        )
        .catch(() => {});
    }),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(user, after)
      .map(([who, ms]) => command(`${who} opts out at the service`, ms, (profile) => profile.service.optOut(who))),
  },
  {
    weight: 3,
    arbitrary: fc.tuple(tabIndex, fc.constantFrom(true, true, false), after).map(([at, granted, ms]) =>
      command(
        `tab ${at}: consent ${granted}`,
        ms,
        withTab(at, (profile, tab) => profile.consent(tab, granted)),
      ),
    ),
  },
  {
    weight: 1,
    arbitrary: simple('consent false, then close()', (profile, tab) => {
      profile.consent(tab, false);
      tab.close();
    }),
  },
);

const absence = fc.oneof(
  simple('freeze', (_, tab) => {
    tab.page.hide();
    tab.page.freeze();
  }),
  simple('resume', (_, tab) => tab.page.isFrozen && !tab.page.isCached && tab.thaw(() => tab.page.resume()), true),
  simple('suspended while hidden', async (profile, tab) => {
    tab.page.hide();
    // The shortest absence after which a session reads its store again.
    await profile.pass(2_500);
    tab.page.suspend();
  }),
  simple('to the cache', (_, tab) => tab.page.cache()),
  simple('back from the cache', (_, tab) => tab.page.isCached && tab.thaw(() => tab.page.restore()), true),
);
const lifecycle = fc.oneof(
  { weight: 6, arbitrary: openTab },
  simple('hide', (_, tab) => tab.page.hide()),
  simple('show', (_, tab) => tab.page.show()),
  { weight: 4, arbitrary: absence },
  simple('kill', (_, tab) => tab.page.kill(), true),
  simple('leave', (_, tab) => tab.page.leave(), true),
  simple('close()', (_, tab) => tab.close()),
  simple('timers stop', (_, tab) => tab.page.stopTimers(true)),
  simple('timers go on', (_, tab) => tab.page.stopTimers(false)),
);

const surroundings = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .tuple(netFault, after)
      .map(([fault, ms]) => command(`network: ${fault}`, ms, (profile) => profile.setNetwork(fault))),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(provideFault, after)
      .map(([fault, ms]) => command(`provide: ${fault}`, ms, (profile) => profile.setProvide(fault))),
  },
  {
    weight: 3,
    arbitrary: fc
      .tuple(storageFault, after)
      .map(([fault, ms]) => command(`storage: ${fault}`, ms, (profile) => profile.setStorage(fault))),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(kind, after)
      .map(([fault, ms]) => command(`storage: ${fault}`, ms, (profile) => profile.incident(fault))),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(step, after)
      .map(([ms, then]) => command(`clock: ${ms} ms`, then, (profile) => profile.stepClock(ms))),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(span, after)
      .map(([ms, then]) => command(`sleep: ${ms} ms`, then, (profile) => profile.sleep(ms))),
  },
  { weight: 1, arbitrary: after.map((ms) => command('online', ms, (profile) => profile.online())) },
  {
    weight: 4,
    arbitrary: fc.constantFrom(MINUTE, 20 * MINUTE, HOUR, 3 * HOUR).map((ms) => command('wait', ms, () => {})),
  },
);

const command20 = (what: string, action: (profile: Profile) => unknown) => fc.constant(command(what, 20, action));

/** Everything that can happen (`wild`). */
const anything: readonly fc.Arbitrary<Command>[] = [operations, operations, lifecycle, surroundings];
/** Operations of several tabs close together, with storage and network that are slow at worst (`close`). */
const overlapping: readonly fc.Arbitrary<Command>[] = [
  operations,
  operations,
  openTab,
  fc.oneof(
    command20('network: slow', (profile) => profile.setNetwork('slow')),
    command20('network: none', (profile) => profile.setNetwork('none')),
    command20('disk: slow', (profile) => profile.setStorage('slow')),
    command20('disk: none', (profile) => profile.setStorage('none')),
    fc.constantFrom(MINUTE, 16 * MINUTE, HOUR).map((ms) => command('wait', ms, () => {})),
  ),
];

const soon = fc.constantFrom(0, 20, 150, 400);
const openPlain = soon.map((ms) =>
  command('open a tab', ms, (profile) => profile.tabs.length < 3 && profile.open({ visible: true })),
);
const supplyOne = fc.tuple(tabIndex, fc.nat({ max: 1 }), soon).map(([at, root, ms]) =>
  command(
    `tab ${at}: setTokens of set ${root}, or a new one`,
    ms,
    withTab(at, async (profile, tab) => {
      const given = profile.answers[root] ? { answer: profile.answers[root], root } : await profile.answerFor('ann');
      profile.setTokens(tab, given.answer, given.root);
    }),
  ),
);
/** The same few sets, supplied again and again while answers are under way (`again`). */
const repeated: readonly fc.Arbitrary<Command>[] = [
  openPlain,
  supplyOne,
  supplyOne,
  simple(
    'setTokens of an opt-out',
    (profile, tab) => profile.setTokens(tab, { status: 'optout' }, undefined),
    false,
    soon,
  ),
  simple('refresh', (profile, tab) => profile.refresh(tab), false, soon),
  fc.oneof(
    simple('clear', (profile, tab) => profile.clear(tab), false, soon),
    command20('network: slow', (profile) => profile.setNetwork('slow')),
    command20('network: slow', (profile) => profile.setNetwork('slow')),
    command20('network: none', (profile) => profile.setNetwork('none')),
    fc.constantFrom(4_000, MINUTE, 16 * MINUTE).map((ms) => command('wait', ms, () => {})),
  ),
];

/** Pages that are frozen, cached and shown again while others log users in and out (`absence`). */
const absences: readonly fc.Arbitrary<Command>[] = [
  openPlain,
  supplyOne,
  simple('clear', (profile, tab) => profile.clear(tab)),
  absence,
  absence,
];

/** Pages that are left during their attempts, on a network that is slow or fails (`leaving`). */
const leaving: readonly fc.Arbitrary<Command>[] = [
  openPlain,
  openPlain,
  supplyOne,
  simple('leave', (_, tab) => tab.page.leave(), true, soon),
  simple('kill', (_, tab) => tab.page.kill(), true, soon),
  simple('show', (_, tab) => {
    tab.page.hide();
    tab.page.show();
  }),
  fc
    .tuple(fc.constantFrom<NetFault>('slow', 'hangs', '503', 'offline', 'none'), after)
    .map(([fault, ms]) => command(`network: ${fault}`, ms, (profile) => profile.setNetwork(fault))),
  fc.constantFrom(4_000, 16 * MINUTE, HOUR).map((ms) => command('wait', ms, () => {})),
];

/** A store whose records are damaged while sets fall due (`damage`). */
const damaging: readonly fc.Arbitrary<Command>[] = [
  openPlain,
  supplyOne,
  simple('refresh', (profile, tab) => profile.refresh(tab)),
  fc.tuple(kind, after).map(([what, ms]) => command(`storage: ${what}`, ms, (profile) => profile.incident(what))),
  after.map((ms) => command('storage: damaged', ms, (profile) => profile.incident('damaged'))),
  fc
    .tuple(fc.constantFrom<NetFault>('503', '429 s', 'offline', 'none', 'none'), after)
    .map(([fault, ms]) => command(`network: ${fault}`, ms, (profile) => profile.setNetwork(fault))),
  fc.constantFrom(16 * MINUTE, HOUR).map((ms) => command('wait', ms, () => {})),
];

/**
 * Which commands a run consists of: operations close together, the same sets again and again, damage to what is stored,
 * pages that come and go, pages that are left during their attempts, or everything that can happen.
 */
export type Field = 'close' | 'again' | 'damage' | 'absence' | 'leaving' | 'wild';
const FIELDS = {
  close: overlapping,
  again: repeated,
  damage: damaging,
  absence: absences,
  leaving,
  wild: anything,
};

/** Generate up to `most` commands of a field. */
export const commands = (field: Field, most: number) =>
  fc.commands([...FIELDS[field]], { maxCommands: most, size: 'max' });

const leave = (most: 'works') => fc.constantFrom(most, most, most, 'missing' as const, 'refused' as const);

export const setups: fc.Arbitrary<Setup> = fc.record({
  seed: fc.integer({ min: 0, max: 2 ** 31 - 1 }),
  locks: leave('works'),
  channel: leave('works'),
  hasStorage: fc.constantFrom(true, true, true, true, true, false),
  isDateReadable: fc.boolean(),
  dateErrorMs: fc.constant(0),
  keepsRefreshToken: fc.constant(false),
  lifetimes: fc.constantFrom(
    { identityExpires: 3600, refreshFrom: 900, refreshExpires: 86_400 },
    { identityExpires: 14_400, refreshFrom: 3600, refreshExpires: 2_592_000 },
  ),
  stopsAsleep: fc.boolean(),
  hasProvide: fc.constantFrom(false, false, true),
  listenerKind: fc.constantFrom(
    'plain' as const,
    'plain' as const,
    'throws' as const,
    'rejects' as const,
    'reenters' as const,
  ),
  readsTokens: fc.boolean(),
});
