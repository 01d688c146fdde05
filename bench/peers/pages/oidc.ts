/** `oidc-client-ts` with automatic silent renewal, by refresh token, its user in localStorage. */

import { UserManager, WebStorageStateStore } from 'oidc-client-ts';
import { parameters, visit } from './visit.ts';

let manager: UserManager;

/** The manager starts its timers when it has read the user. */
const create = (): UserManager => {
  manager ??= new UserManager({
    authority: parameters().issuer,
    client_id: 'bench',
    redirect_uri: location.origin,
    scope: 'openid profile offline_access',
    automaticSilentRenew: true,
    userStore: new WebStorageStateStore({ store: localStorage }),
  });
  return manager;
};
const token = async () => (await create().getUser())?.access_token;

visit({
  signIn: () => create().signinResourceOwnerCredentials({ username: 'reader', password: 'reader' }),
  open: token,
  ask: token,
  refresh: () => create().signinSilent(),
});
