/** How the run of a world ends: all is well again, and everybody comes to agree; then the sessions are closed. */

import { isRefusal } from './network.ts';
import { MINUTE } from './referee.ts';
import type { Tab } from './tab.ts';
import type { World } from './world.ts';

const describe = ({ service }: World, tab: Tab): string => {
  const { phase, lastError, waitingFor, clockOffsetMs } = tab.session.state;
  const token = tab.session.advertisingToken;
  const issued = token === undefined ? undefined : service.find(token);
  return `tab ${tab.id} ${issued ? `set ${issued.root}` : 'none'} ${phase} ${lastError?.code ?? ''} ${waitingFor ?? ''} ${clockOffsetMs ?? ''}`;
};

/** All is well again, and every page is seen: all tabs agree, and there is a token where one can be had. */
export const converge = async (world: World): Promise<void> => {
  const { setup, time, service, network, tabs, truth, fault, isUp } = world;
  world.setNetwork('none');
  world.setDisk('none');
  world.setProvide('none');
  for (const tab of [...tabs]) {
    if (tab.page.isGone) continue;
    tab.page.stopTimers(false);
    if (tab.page.isCached) tab.thaw(() => tab.page.restore());
    else if (tab.page.isFrozen) tab.thaw(() => tab.page.resume());
  }
  await world.pass(5_000, 'all well again');
  for (const { page } of tabs) {
    // Without a channel, to be seen again is the only news.
    if (setup.channel !== 'works') page.hide();
    page.show();
  }
  await world.pass(12 * MINUTE, 'all well again');
  const last = world.open({ visible: true });
  await world.pass(5_000, 'all well again');
  if (setup.channel !== 'works') {
    for (const { page } of tabs) {
      page.hide();
      page.show();
    }
    await world.pass(5_000, 'all well again');
  }
  const together = tabs.filter((tab) => isUp(tab) && tab.granted && !tab.isAlone);
  for (const tab of together) tab.look('in the end');
  // Without a channel nobody is told of a rotation: tokens of one set, but not the same one.
  const shown = new Set(
    together.map(({ session: { advertisingToken: token } }) =>
      setup.channel === 'works' || !token ? token : service.find(token)?.root,
    ),
  );
  if (shown.size > 1 && !last.isAlone && truth.isStored() && truth.inForce().every(({ isWeak }) => !isWeak))
    fault(`tabs do not agree: ${together.map((tab) => describe(world, tab)).join('; ')}`);
  // What waits for consent has not come about.
  const isHeld = (id: number) => tabs.some((tab) => tab.id === id && tab.openedAt === Number.POSITIVE_INFINITY);
  const lastAct = truth.inForce().filter((act) => !isHeld(act.tab));
  const [only] = lastAct;
  const isDue = lastAct.length === 1 && only!.kind === 'set' && !only!.isWeak && together.length && !last.isAlone;
  const wasEnded = network.calls.some(
    ({ said, sent }) => (said === 'ended' || said === 'optout') && sent?.root === only?.root,
  );
  const wasRefused = network.calls.some(({ fault: why, sent }) => isRefusal(why) && sent?.root === only?.root);
  const isOut = truth.acts.some(({ kind }) => kind === 'optout');
  const endsAt = Math.max(0, ...service.descendants(only?.root).map(({ wire }) => wire.refresh_expires));
  if (isDue && !wasEnded && !wasRefused && !isOut && time.nowMs < endsAt && shown.has(undefined))
    fault(`no token, though set ${only!.root} is in force: ${together.map((tab) => describe(world, tab)).join('; ')}`);
};

/** Nothing is left of a closed session. */
export const end = async ({ time, tabs, fault }: World): Promise<void> => {
  for (const tab of tabs) if (tab.isUp && !tab.isClosed) tab.close();
  await time.advance(4_000).catch(() => {});
  for (const tab of tabs)
    if (tab.isUp) {
      if (tab.page.left()) fault(`tab ${tab.id}: timers or listeners are left after close()`);
      for (const what of tab.unsettled()) fault(`tab ${tab.id}: ${what} has not settled after close()`);
    }
};
