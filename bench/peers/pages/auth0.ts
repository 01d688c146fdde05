/** `@auth0/auth0-spa-js`, with refresh tokens, its tokens in localStorage. */

import { type Auth0Client, createAuth0Client } from '@auth0/auth0-spa-js';
import { parameters, visit } from './visit.ts';

const redirectUri = location.origin + location.pathname;
let client: Auth0Client;

const create = async (): Promise<Auth0Client> => {
  client ??= await createAuth0Client({
    domain: parameters().issuer,
    clientId: 'bench',
    useRefreshTokens: true,
    cacheLocation: 'localstorage',
    authorizationParams: { redirect_uri: redirectUri },
  });
  return client;
};

visit({
  signIn: async () => {
    await (await create()).loginWithRedirect();
    // The browser leaves the page.
    await new Promise(() => {});
  },
  open: async () => {
    await create();
    if (location.search.includes('code=')) await client.handleRedirectCallback();
    return client.getTokenSilently();
  },
  ask: () => client.getTokenSilently(),
  refresh: () => client.getTokenSilently({ cacheMode: 'off' }),
});
