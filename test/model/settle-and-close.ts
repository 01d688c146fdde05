/**
 * The end of a run: all faults end and all tabs must agree on one state (`converge`); then all sessions are closed and must
 * leave nothing behind (`closeAll`).
 */

import { mayShow } from './labels.ts';
import { isRefusal } from './network.ts';
import type { Profile } from './profile.ts';
import type { Tab } from './tab.ts';
import { MINUTE } from './time.ts';

const describe = ({ service }: Profile, tab: Tab): string => {
  const { phase, lastError, waitingFor, clockOffsetMs } = tab.session.state;
  const token = tab.session.advertisingToken;
  const issued = token === undefined ? undefined : service.find(token);
  return `tab ${tab.id} ${issued ? `set ${issued.root}` : 'none'} ${phase} ${lastError?.code ?? ''} ${waitingFor ?? ''} ${clockOffsetMs ?? ''}`;
};

/** Whether a tab could have refreshed a set for the last ten minutes. */
const isRefreshing = (tab: Tab): boolean => !tab.isRefreshOff && tab.ran() - tab.grantedAt > 11 * MINUTE;

/** End all faults and show every page; then all tabs must agree, and have a token if the service would issue one. */
export const converge = async (profile: Profile): Promise<void> => {
  const { setup, time, service, publisher, network, tabs, expected, fault, isRunning } = profile;
  profile.setNetwork('none');
  profile.setStorage('none');
  profile.setProvide('none');
  for (const tab of [...tabs]) {
    if (tab.page.isGone) continue;
    tab.page.stopTimers(false);
    if (tab.page.isCached) tab.thaw(() => tab.page.restore());
    else if (tab.page.isFrozen) tab.thaw(() => tab.page.resume());
  }
  await profile.pass(5_000, 'after all faults have ended');
  for (const { page } of tabs) {
    // Without a message, as after a loss of the store, a tab reads it when it becomes visible.
    page.hide();
    page.show();
  }
  await profile.pass(12 * MINUTE, 'after all faults have ended');
  const callsBefore = publisher.calls();
  const last = profile.open({ visible: true, label: undefined });
  await profile.pass(5_000, 'after all faults have ended');
  if (setup.channel !== 'works') {
    for (const { page } of tabs) {
      page.hide();
      page.show();
    }
    await profile.pass(5_000, 'after all faults have ended');
  }
  const together = tabs.filter((tab) => isRunning(tab) && tab.granted && !tab.isAlone && mayShow(tab.label, expected));
  for (const tab of together) tab.readToken('at the end');
  // Without a channel a tab does not learn of a rotation: tabs may hold different descendants of one set.
  const shown = new Set(
    together.map(({ session: { advertisingToken: token } }) =>
      setup.channel === 'works' || !token ? token : service.find(token)?.root,
    ),
  );
  // Where the clocks of pages differ, a token may have expired for one of them.
  const areDifferent = shown.size - Number(profile.conditions.wasSetBack && shown.has(undefined)) > 1;
  if (areDifferent && !last.isAlone && expected.inForce().every(({ isUncertain }) => !isUncertain))
    fault(`tabs do not agree: ${together.map((tab) => describe(profile, tab)).join('; ')}`);
  // A set that still waits for consent has not taken effect; a logout and an opt-out do not wait.
  const isHeld = (id: number) => tabs.some((tab) => tab.id === id && tab.grantedAt === Number.POSITIVE_INFINITY);
  const latest = expected.inForce().filter(({ kind, tab }) => kind !== 'set' || !isHeld(tab));
  const [only] = latest;
  // The last user has logged out or opted out. Another one may be signed in: each new page asks `provide`.
  const hasLeft = latest.length && latest.every(({ kind, isUncertain }) => kind !== 'set' && !isUncertain);
  // A page without a label does not ask for the set of a user who has one.
  const asks = setup.hasProvide && !setup.hasLabels;
  // A page without refreshes may have left a set behind the opt-out. The last page has sent it, and the service has refused it: only
  // the page can supply another.
  const wasHeldRefused = last.session.state.lastError?.code === 'opted_out';
  if (asks && hasLeft && !wasHeldRefused && !last.isAlone && publisher.calls() === callsBefore)
    fault(`\`provide\` is not asked after ${latest.map(({ kind }) => kind).join(' or ')}: ${describe(profile, last)}`);
  const isDue = latest.length === 1 && only!.kind === 'set' && !only!.isUncertain && together.length && !last.isAlone;
  const wasEnded = network.calls.some(
    ({ said, sent }) => (said === 'ended' || said === 'optout') && sent?.root === only?.root,
  );
  const wasRefused = network.calls.some(({ fault: why, sent }) => isRefusal(why) && sent?.root === only?.root);
  // After an opt-out, a set supplied since then is refreshed at once, and accepted unless its user has opted out at the service.
  const isOut = service.descendants(only?.root).some(({ user }) => service.isOptedOut(user));
  const endsAt = Math.max(0, ...service.descendants(only?.root).map(({ wire }) => wire.refresh_expires));
  if (!isDue || wasEnded || wasRefused || isOut || profile.isMisled() || time.nowMs >= endsAt) return;
  const all = together.map((tab) => describe(profile, tab)).join('; ');
  if (shown.has(undefined)) fault(`no token, though set ${only!.root} is in force: ${all}`);
  const dueAt = service.find(last.shown ?? '')?.wire.refresh_from ?? Number.POSITIVE_INFINITY;
  // Back-off after an outage lasts five minutes at most. By a `Date` of the future a set is due on arrival, and refreshed half-way.
  const isClockKnown = !profile.conditions.wasSkewed && setup.dateErrorMs <= 0;
  if (isClockKnown && time.nowMs > dueAt + 10 * MINUTE && together.some(isRefreshing))
    fault(`set ${only!.root} is not refreshed although it is due: ${all}`);
};

/** Close all sessions. No timer, listener or unsettled promise may be left. */
export const closeAll = async ({ time, tabs, fault }: Profile): Promise<void> => {
  for (const tab of tabs) if (tab.isRunning && !tab.isClosed) tab.close();
  await time.advance(4_000).catch(() => {});
  for (const tab of tabs)
    if (tab.isRunning) {
      if (tab.page.left()) fault(`tab ${tab.id}: timers or listeners are left after close()`);
      for (const what of tab.unsettled()) fault(`tab ${tab.id}: ${what} has not settled after close()`);
    }
};
