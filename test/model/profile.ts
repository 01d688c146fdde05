/**
 * A simulated browser profile on one device, with the service at the other end of its network and one virtual clock.
 * It performs what a host, a user, a browser or the surroundings may do. It does not decide whether a session behaves
 * correctly: `invariants.ts` does.
 */

import type { SessionModule } from './bundle.ts';
import type { Consent } from './consent.ts';
import type { Operation } from './expected-state.ts';
import { createChecker, MOST_FAULTS, SETTLED_MS, type Setup } from './invariants.ts';
import { endingBy, type Label, relabel, UNKNOWN } from './labels.ts';
import { createChannels, createLocks } from './locks-and-channels.ts';
import { createNetwork, isOutage, type NetFault } from './network.ts';
import type { PageEnvironment } from './page.ts';
import { createPublisher, type ProvideFault } from './publisher.ts';
import { createRandom } from './random.ts';
import { createService } from './service.ts';
import { createStorage, type StorageFault, type StorageIncident } from './storage.ts';
import { createTab, type Limits, type Tab } from './tab.ts';
import { createTime, START } from './time.ts';

export const createProfile = (setup: Setup, load: (page: object) => SessionModule) => {
  const random = createRandom(setup.seed);
  const time = createTime(START);
  let seq = 0;
  const next = () => ++seq;
  const service = createService(setup.lifetimes, () => time.nowMs, next, setup.keepsRefreshToken);
  const tabs: Tab[] = [];
  let tabIds = 0;
  let lagMs = 0;
  /** When an incident began that is going to lose the content of the store. */
  let lostFrom: number | undefined;
  const answers: unknown[] = [];

  const storage = createStorage(
    time,
    random,
    (error) => fault(`thrown by a handler of a storage event: ${error}`),
    (isIncident) => {
      checker.lose(isIncident ? lostFrom : undefined);
      if (isIncident) lostFrom = undefined;
    },
  );
  const checker = createChecker({ setup, time, next, service, tabs, storage, network: () => network });
  const { fault, conditions, expected, attempts, track } = checker;
  const network = createNetwork(time, random, service, next, setup, checker);

  const locks = createLocks(time, random, fault);
  const channels = createChannels(time, random);
  const environment: PageEnvironment = {
    time,
    random,
    load,
    wall: () => time.nowMs + conditions.skewMs,
    mono: () => time.nowMs - START - lagMs,
    locks,
    locksAvailability: setup.locks,
    channels,
    channelAvailability: setup.channel,
    storage: setup.hasStorage ? storage : undefined,
    network,
    onThrow: (error) => fault(`thrown by a handler of the page: ${error instanceof Error ? error.stack : error}`),
  };

  const isRunning = (tab: Tab) => tab.isRunning && !tab.isClosed;

  /** Perform an operation of a host; it settles with its promise. */
  const perform = (tab: Tab, operation: Operation | undefined, what: keyof Limits, call: () => Promise<unknown>) => {
    attempts.allowExtra();
    tab.noteHostCall();
    const isErasure = operation?.kind === 'clear' || operation?.kind === 'optOut';
    // A suspended page may see the end of its call long after the fault.
    const wasStorageSlow = checker.isStorageSlow();
    const wasAlone = tab.isAlone;
    const isUnsure = () => wasAlone || tab.isAlone || time.nowMs < conditions.lostAt + 1000;
    let promise: Promise<unknown>;
    try {
      promise = isErasure ? tab.erase(call) : call();
    } catch (error) {
      return fault(`${what} throws: ${error}`);
    }
    tab.expectSettled(what, tab.limits[what], promise).then(
      () => {
        if (!tab.granted && !isErasure) fault(`tab ${tab.id}: ${what} resolves without consent`);
        if (!operation) return;
        expected.settle(operation, isUnsure());
        if (operation.kind === 'set' && tab.isRefreshOff) expected.liftOptOut(next());
      },
      (error) => {
        // A store that does not answer: the next page may find the former user.
        const isStoreFault = error?.code === 'storage_failed' && (wasStorageSlow || checker.isStorageSlow());
        // `signIn` erases first, and rejects for another reason if no set follows.
        const isErased = what === 'signIn' && error?.code !== 'storage_failed';
        if (isErasure && !tab.isClosed && !isStoreFault && !isErased)
          fault(`tab ${tab.id}: an erasure is rejected: ${error}`);
        if (operation) expected.settle(operation, !isErased || tab.isClosed || isUnsure());
      },
    );
    return undefined;
  };

  if (setup.storage) storage.setFault(setup.storage);

  const removeGone = () => {
    for (let i = tabs.length - 1; i >= 0; i--) {
      const tab = tabs[i]!;
      if (!tab.page.isGone) continue;
      attempts.allowExtra();
      tabs.splice(i, 1);
      for (const operation of expected.operations) if (operation.tab === tab.id) expected.settle(operation, true);
    }
  };

  const check = (how: string) => {
    removeGone();
    checker.check();
    for (const tab of tabs) {
      tab.check();
      if (setup.readsTokens && tab.isRunning) tab.readToken(how);
    }
  };

  const publisher = createPublisher(time, random, service, (asker, issued) => {
    const kind = issued ? 'set' : 'optOut';
    const operation = expected.begin(kind, -1, {
      ...(issued && { root: issued.root }),
      // That of the page that asked.
      ...(issued && setup.hasLabels && { label: UNKNOWN }),
      isUncertain: true,
      isImplicit: true,
    });
    operation.settledSeq = next();
    const ran = asker.ran();
    operation.isPending = () => !asker.page.isGone && Math.min(asker.ran(), asker.lateSince) < ran + SETTLED_MS;
    // Unlike one of the service, a set of the host does not tell the page how wrong the clock is, or the `Date` of the service.
    const isMisled = conditions.wasSkewed || setup.dateErrorMs > 0;
    if (issued && !isMisled) attempts.noteSet(asker);
  });

  /** A page with a label has consent: it ends the record of anybody else. */
  const beginEnding = (id: number, label: Label, root: number | undefined, isSure: boolean): Operation | undefined => {
    const ending = endingBy(label, expected, root);
    if (ending === 'none') return undefined;
    const isUncertain = !isSure || ending === 'uncertain';
    return expected.begin('clear', id, { isUncertain, ...(label && { label }) });
  };
  /** The label of a page: that of the user it is rendered for. It asks the publisher's server for the sets of this user alone. */
  const drawLabel = (root: number | undefined): Label => {
    const user = root === undefined ? undefined : service.descendants(root)[0]?.user;
    return random.pick<Label>([undefined, ...(user === undefined ? ['ann', 'bob', null] : [user, user, user])]);
  };
  /** The label that a host gives with a set; undefined: none, the set gets that of the page. */
  const drawLabelOfSet = (tab: Tab, root: number): string | undefined => {
    const { user } = service.descendants(root)[0]!;
    const isOther = typeof tab.label === 'string' && tab.label !== user;
    return setup.hasLabels && (isOther || random.happens(0.5)) ? user : undefined;
  };
  const provide: typeof publisher.provide = (tab, request) => {
    const isForeign = setup.hasLabels && !(typeof tab.label === 'string' && publisher.isSignedIn(tab.label));
    return isForeign ? Promise.resolve(null) : publisher.provide(tab, request);
  };

  const profile = {
    setup,
    time,
    service,
    publisher,
    network,
    storage,
    tabs,
    faults: checker.faults,
    conditions,
    isMisled: checker.isMisled,
    expected,
    fault,
    /** The tab at an index, modulo the number of tabs. */
    at: (place: number): Tab | undefined => tabs[place % tabs.length],
    /** Advance the time, then check the invariants. */
    pass: async (ms: number, how = 'a step') => {
      // A loop of requests needs no more faults.
      await time.advance(ms, () => checker.faults.length >= MOST_FAULTS);
      check(how);
    },
    /** Sign a user in at the publisher's server and generate a set. */
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
      label?: Label;
    }) => {
      removeGone();
      const { visible, root, answer, consent = 'none', refresh = 'auto' } = given;
      const id = tabIds++;
      attempts.allowExtra();
      const label = setup.hasLabels && !('label' in given) ? drawLabel(root) : given.label;
      // Without consent at once, the page ends the record of others when it has consent: see `consent` below.
      const endsOthers = label !== undefined && (consent === 'none' || consent === 'yes');
      // An opt-out does not wait for the record; a set that sessions know counts where the store has failed.
      const isAlone = answer === undefined || (root !== undefined && !checker.isKnown(root));
      const ending = endsOthers && beginEnding(id, label, root, isAlone);
      // A set that ends no later than one that sessions have accepted is no operation; one that may end later may be one.
      const operation =
        answer === undefined || (root !== undefined && checker.isKnown(root))
          ? undefined
          : root === undefined
            ? expected.begin('optOut', id)
            : expected.begin('set', id, {
                root,
                // A session may have accepted the same set from another page.
                isUncertain: !checker.isNewest(root) || expected.operations.some((one) => one.root === root),
                ...(label && { label }),
              });
      const tab: Tab = createTab(environment, {
        id,
        visible,
        listenerKind: setup.listenerKind,
        tokens: answer,
        isRenderedOptOut: answer !== undefined && root === undefined,
        consent,
        refresh,
        provide: setup.hasProvide ? provide : undefined,
        label,
        timeoutMs: setup.timeouts && random.pick(setup.timeouts),
        hostStoreFaults: setup.hostStoreFaults,
        onStoreFault: (isLie) => {
          if (!isLie) attempts.allowExtra();
          // The store is trusted: what it returns later takes the place of what it has only pretended to store.
          else
            for (const operation of expected.operations)
              if (operation.tab === id && operation.settledSeq === undefined) operation.isUncertain = true;
          checker.fail();
        },
        onAsk: (asker, isOver) => attempts.begin('provide', asker, isOver),
        onAskAborted: attempts.abort,
        onNext: attempts.onNext,
        onOwnToken: attempts.noteReset,
        onWrite: (of, text) => {
          checker.onWrite(of, text);
          attempts.noteLease(text, of);
        },
        onFault: fault,
        onToken: checker.checkToken,
        isWritten: checker.isWritten,
        lastWritten: () => storage.written.at(-1) ?? '',
        expiryOf: (token) => service.find(token)?.wire.identity_expires,
      });
      tabs.push(tab);
      if (ending) track(ending, tab);
      if (root !== undefined) relabel(label, expected, root);
      // By the time consent is given, or a refresh is answered, other pages may have a set that ends later.
      const isFenced = !tab.granted || (root !== undefined && attempts.areInFlight());
      if (operation) track(operation, tab, isFenced && !operation.isUncertain);
      if (operation && root !== undefined) operation.isUncertain ||= isFenced;
      else if (root !== undefined) checker.trackKnownSet(tab, root);
      checker.reviseKnownSets();
      return tab;
    },
    setTokens: (tab: Tab, answer: unknown, root: number | undefined) => {
      const label = root === undefined ? undefined : drawLabelOfSet(tab, root);
      if (label !== undefined) tab.relabel(label);
      const call = () => tab.session.setTokens(answer as never, { user: label });
      // Without consent a set has no effect, but that it discards those that wait for consent; an opt-out is always recorded.
      if (tab.granted === false && root !== undefined) {
        for (const operation of expected.operations) if (operation.tab === tab.id) expected.settle(operation, true);
        return perform(tab, undefined, 'setTokens', call);
      }
      const operation = expected.begin(
        root === undefined ? 'optOut' : 'set',
        tab.id,
        root === undefined ? {} : { root, ...(tab.label && { label: tab.label }) },
      );
      // With `refresh: 'off'` the host speaks for the service.
      if (root !== undefined && tab.isRefreshOff) expected.liftOptOut(operation.startSeq);
      checker.reviseKnownSets();
      return perform(tab, operation, 'setTokens', call);
    },
    answers,
    clear: (tab: Tab) => {
      publisher.signIn(undefined);
      const operation = expected.begin('clear', tab.id);
      perform(tab, operation, 'clear', () => tab.session.clear());
    },
    signIn: (tab: Tab, user: string) => {
      publisher.signIn(user);
      const label = setup.hasLabels && random.happens(0.8) ? user : undefined;
      if (setup.hasLabels) tab.relabel(label);
      const operation = expected.begin('clear', tab.id, label === undefined ? {} : { label });
      perform(tab, operation, 'signIn', () => tab.session.signIn({ user: label }));
    },
    refresh: (tab: Tab) => {
      conditions.asking++;
      const settle = () => {
        conditions.asking--;
        conditions.askedAt = time.nowMs;
      };
      perform(tab, undefined, 'refresh', () => tab.session.refresh().finally(settle));
    },
    getToken: (tab: Tab, timeoutMs: number) => {
      tab
        .expectSettled('getToken', timeoutMs + 200, tab.session.getToken({ timeoutMs }))
        .then((token) => {
          if (!tab.granted) fault(`tab ${tab.id}: getToken brings a token without consent`);
          checker.checkToken(tab, token, 'getToken');
        })
        .catch(() => {});
    },
    consent: (tab: Tab, granted: boolean) => {
      if (!tab.hasConsentOption) return;
      attempts.allowExtra();
      if (tab.granted && !granted) {
        const operation = expected.begin('forget', tab.id);
        checker.forgetKnownSets();
        track(operation, tab);
      }
      if (granted && !tab.granted) {
        const ending = beginEnding(tab.id, tab.label, undefined, false);
        if (ending) track(ending, tab);
      }
      tab.consent(granted);
    },
    setNetwork: (to: NetFault) => {
      attempts.setFailing('refresh', isOutage(to));
      network.setFault(to);
    },
    setProvide: (to: ProvideFault) => {
      attempts.setFailing('provide', to !== 'none' && to !== 'nobody');
      publisher.setFault(to);
    },
    setStorage: (to: StorageFault) => {
      if (to === storage.fault) return;
      attempts.allowExtra();
      conditions.storageFaultyAt = time.nowMs;
      storage.setFault(to);
    },
    incident: (kind: StorageIncident) => {
      attempts.allowExtra();
      conditions.storageFaultyAt = time.nowMs;
      if (kind === 'wiped') checker.lose();
      else if (kind !== 'lost' && kind !== 'closed') lostFrom ??= next();
      storage.incident(kind, 'model');
    },
    stepClock: (ms: number) => {
      attempts.allowExtra();
      conditions.skewMs += ms;
      conditions.wasSet = true;
      conditions.wasSetBack ||= ms < 0;
      conditions.wasSkewed ||= Math.abs(conditions.skewMs) > 1000;
    },
    sleep: (ms: number) => {
      attempts.allowExtra();
      network.cut();
      conditions.sleptSeq = next();
      if (setup.stopsAsleep) lagMs += ms;
      time.sleep(ms, setup.stopsAsleep);
      for (const { page } of tabs) page.slept(ms);
    },
    online: () => {
      for (const tab of tabs) if (isRunning(tab)) tab.page.online();
    },
    check,
    isRunning,
    wrong: checker.wrong,
  };
  return profile;
};
export type Profile = ReturnType<typeof createProfile>;
