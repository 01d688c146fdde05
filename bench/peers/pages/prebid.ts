/**
 * Runs before Prebid.js, as a publisher's queue does: the module `uid2IdSystem` with its token set in localStorage. The set is
 * given as a parameter at the sign-in alone.
 */

import { isSignIn, parameters, visit } from './visit.ts';

interface Prebid {
  que: { push(call: () => void): void };
  setConfig(config: unknown): void;
  getUserIdsAsync(): Promise<{ uid2?: { id: string } }>;
  refreshUserIds(options: { submoduleNames: string[] }): Promise<{ uid2?: { id: string } }>;
}

const pbjs = { que: [] as (() => void)[] } as unknown as Prebid;
Object.assign(globalThis, { pbjs });

const first = isSignIn()
  ? fetch(`/uid2/token${location.search}`, { method: 'POST' }).then((answer) => answer.json())
  : undefined;

pbjs.que.push(() => {
  const configure = (uid2Token?: unknown) =>
    pbjs.setConfig({
      userSync: {
        userIds: [
          { name: 'uid2', params: { uid2ApiBase: parameters().operator, ...(uid2Token ? { uid2Token } : {}) } },
        ],
      },
    });
  if (!first) configure();
  visit({
    signIn: async () => configure(((await first) as { body: unknown }).body),
    open: async () => (await pbjs.getUserIdsAsync()).uid2?.id,
    ask: async () => (await pbjs.refreshUserIds({ submoduleNames: ['uid2'] })).uid2?.id,
  });
});
