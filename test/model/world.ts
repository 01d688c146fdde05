/**
 * A world: one browser profile on one device, the service at the other end of its network, one virtual time for both.
 * It performs what a host, a user, a browser or fate may do; the referee judges what the sessions make of it.
 */

import type { SessionModule } from './bundle.ts';
import { createDisk, type DiskBlow, type DiskFault } from './disk.ts';
import type { Consent } from './gate.ts';
import { createNetwork, isOutage, type NetFault } from './network.ts';
import type { Ground } from './page.ts';
import { createPublisher, type ProvideFault } from './publisher.ts';
import { createChance } from './random.ts';
import { createReferee, HOUR, type Setup, START } from './referee.ts';
import { createService } from './service.ts';
import { createChannels, createLocks } from './shared.ts';
import { createTab, LIMITS, type Tab } from './tab.ts';
import { createTime } from './time.ts';
import type { Act } from './truth.ts';

export const createWorld = (setup: Setup, load: (page: object) => SessionModule) => {
  const chance = createChance(setup.seed);
  const time = createTime(START);
  let seq = 0;
  const next = () => ++seq;
  const service = createService(setup.lifetimes, () => time.nowMs, next);
  const tabs: Tab[] = [];
  let tabIds = 0;
  let lagMs = 0;
  const answers: unknown[] = [];

  const disk = createDisk(
    time,
    chance,
    (error) => fault(`thrown out of a storage event: ${error}`),
    () => referee.lose(),
  );
  const referee = createReferee({ setup, time, next, service, tabs, disk, network: () => network });
  const { fault, known, truth, excuse, letGo } = referee;
  const network = createNetwork(time, chance, service, next, setup.isDateReadable, referee);

  const locks = createLocks(time, chance, fault);
  const channels = createChannels(time, chance);
  const ground: Ground = {
    time,
    chance,
    load,
    wall: () => time.nowMs + known.skewMs,
    mono: () => time.nowMs - START - lagMs,
    locks,
    locksLeave: setup.locks,
    channels,
    channelLeave: setup.channel,
    disk: setup.hasDisk ? disk : undefined,
    network,
    onThrow: (error) => fault(`thrown at the page: ${error instanceof Error ? error.stack : error}`),
  };

  const isUp = (tab: Tab) => tab.isUp && !tab.isClosed;

  /** An act of a host: what it promises settles it. */
  const enact = (tab: Tab, act: Act | undefined, what: keyof typeof LIMITS, call: () => Promise<unknown>) => {
    excuse();
    let promise: Promise<unknown>;
    try {
      promise = call();
    } catch (error) {
      return fault(`${what} throws: ${error}`);
    }
    tab.hold(what, LIMITS[what], promise).then(
      () => {
        if (!tab.granted) fault(`tab ${tab.id}: ${what} resolves without consent`);
        if (!act) return;
        truth.settle(act, tab.isAlone || time.nowMs < known.lostAt + 1000);
        if (act.kind === 'optout') referee.forgetKnown();
        // It has erased the store that it cannot write to: who hears no news finds nothing that tells of the act.
        if (tab.isAlone && setup.channel !== 'works') truth.forgetAll();
      },
      () => act && truth.settle(act, true),
    );
    return undefined;
  };

  const bury = () => {
    for (let i = tabs.length - 1; i >= 0; i--) {
      const tab = tabs[i]!;
      if (!tab.page.isGone) continue;
      excuse();
      tabs.splice(i, 1);
      for (const act of truth.acts) if (act.tab === tab.id) truth.settle(act, true);
    }
  };

  const check = (how: string) => {
    bury();
    referee.check();
    for (const tab of tabs) {
      tab.check();
      if (setup.looks && tab.isUp) tab.look(how);
    }
  };

  const publisher = createPublisher(time, chance, service, (issued) => {
    const kind = issued ? 'set' : 'optout';
    const act = truth.begin(kind, -1, { ...(issued && { root: issued.root }), isWeak: true, isImplicit: true });
    act.settledSeq = next();
    if (!issued) referee.forgetKnown();
  });

  const world = {
    setup,
    time,
    service,
    network,
    disk,
    tabs,
    faults: referee.faults,
    truth,
    fault,
    /** The tab that stands at a place, counted round. */
    at: (place: number): Tab | undefined => tabs[place % tabs.length],
    /** Let time pass, and judge. */
    pass: async (ms: number, how = 'a step') => {
      await time.advance(ms);
      check(how);
    },
    /** The publisher's server makes a set for a user, who is signed in from now on. */
    answerFor: async (user: string) => {
      publisher.signIn(user);
      const { answer, issued } = await service.generate(user);
      if (issued) answers[issued.root] = answer;
      return { answer, root: issued?.root };
    },
    open: (given: {
      visible: boolean;
      root?: number | undefined;
      answer?: unknown;
      consent?: Consent;
      refresh?: 'auto' | 'off';
    }) => {
      bury();
      const { visible, root, answer, consent = 'none', refresh = 'auto' } = given;
      const id = tabIds++;
      excuse();
      const isAgain = root !== undefined && truth.acts.some((act) => act.root === root);
      // A set that is known again is no act; one that was forgotten may be one.
      const act =
        answer === undefined || (root !== undefined && referee.isKnown(root))
          ? undefined
          : root === undefined
            ? truth.begin('optout', id)
            : truth.begin('set', id, { root, isWeak: isAgain });
      if (root === undefined && answer !== undefined) referee.forgetKnown();
      const tab = createTab(ground, {
        id,
        visible,
        manner: setup.manner,
        tokens: answer,
        consent,
        refresh,
        provide: setup.hasProvide ? publisher.provide : undefined,
        onFault: fault,
        onToken: referee.judge,
        isWritten: referee.isWritten,
      });
      tabs.push(tab);
      // By the time that there is consent, others may have come with the same set.
      if (act) letGo(act, tab, !tab.granted && !act.isWeak);
      else if (root !== undefined) referee.rest(tab, root);
      referee.revise();
      return tab;
    },
    setTokens: (tab: Tab, answer: unknown, root: number | undefined) => {
      // Where the host has said no, it comes to nothing.
      if (tab.granted === false) return enact(tab, undefined, 'setTokens', () => tab.session.setTokens(answer));
      const act = truth.begin(root === undefined ? 'optout' : 'set', tab.id, root === undefined ? {} : { root });
      if (root === undefined) referee.forgetKnown();
      referee.revise();
      return enact(tab, act, 'setTokens', () => tab.session.setTokens(answer));
    },
    answers,
    clear: (tab: Tab) => {
      publisher.signIn(undefined);
      const act = tab.granted === false ? undefined : truth.begin('clear', tab.id);
      enact(tab, act, 'clear', () => tab.session.clear());
    },
    refresh: (tab: Tab) => {
      known.asking++;
      const settle = () => {
        known.asking--;
        known.askedAt = time.nowMs;
      };
      enact(tab, undefined, 'refresh', () => tab.session.refresh().finally(settle));
    },
    getToken: (tab: Tab, timeoutMs: number) => {
      tab
        .hold('getToken', timeoutMs + 200, tab.session.getToken({ timeoutMs }))
        .then((token) => {
          if (!tab.granted) fault(`tab ${tab.id}: getToken brings a token without consent`);
          referee.judge(tab, token, 'getToken');
        })
        .catch(() => {});
    },
    consent: (tab: Tab, granted: boolean) => {
      if (!tab.isAsked) return;
      excuse();
      if (tab.granted && !granted) {
        const act = truth.begin('forget', tab.id);
        referee.forgetKnown();
        letGo(act, tab);
      }
      // Opt-outs that have waited for it come about now.
      const waits = truth.acts.some((one) => one.tab === tab.id && one.kind === 'optout' && !one.settledSeq);
      if (granted && waits) referee.forgetKnown();
      tab.consent(granted);
    },
    setNetwork: (to: NetFault) => {
      if (isOutage(to)) known.outageSince ??= time.nowMs;
      else known.outageSince = undefined;
      network.setFault(to);
    },
    setProvide: (to: ProvideFault) => {
      excuse();
      publisher.setFault(to);
    },
    setDisk: (to: DiskFault) => {
      if (to === disk.fault) return;
      excuse();
      known.diskFaultyAt = time.nowMs;
      disk.setFault(to);
    },
    restoreGlobals: (blow: DiskBlow) => {
      excuse();
      known.diskFaultyAt = time.nowMs;
      if (blow === 'wiped' || blow === 'deleted' || blow === 'corrupt') {
        referee.lose();
      }
      disk.restoreGlobals(blow, 'model');
    },
    stepClock: (ms: number) => {
      excuse();
      known.skewMs += ms;
      known.wasSet = true;
      known.wasSkewed ||= Math.abs(known.skewMs) > 1000;
      if (Math.abs(known.skewMs) > HOUR) referee.forgetKnown();
    },
    sleep: (ms: number) => {
      excuse();
      network.cut();
      if (setup.stopsAsleep) lagMs += ms;
      time.sleep(ms, setup.stopsAsleep);
      for (const { page } of tabs) page.slept(ms);
    },
    online: () => {
      excuse();
      for (const tab of tabs) if (isUp(tab)) tab.page.online();
    },
    wake: (how: () => unknown) => {
      excuse();
      how();
    },
    check,
    isUp,
    wrong: referee.wrong,
  };
  return world;
};
export type World = ReturnType<typeof createWorld>;
