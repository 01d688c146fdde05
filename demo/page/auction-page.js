// The real Prebid.js, connected to the session by one call, with a bidder on this machine.

import { $, operator, provide, showReader, showToken, tail } from '/common.js';

// region connect
const session = window.tessera.createSession({ baseUrl: operator, provide });
import('/user-id-module.js').then(
  ({ connectPrebid }) => connectPrebid(session),
  () => {}, // a content blocker has blocked the adapter: the session works without it
);
// endregion

showReader(session);
showToken(session);
const { pbjs } = window;
pbjs.setConfig({
  s2sConfig: {
    accountId: '1',
    enabled: true,
    adapter: 'prebidServer',
    bidders: ['local'],
    timeout: 2000,
    endpoint: `${location.origin}/auction`,
  },
});
$('refresh').onclick = () => session.refresh().catch(({ message }) => ($('same').textContent = message));

/** Show the user IDs of the last bid request, as the server received them. */
async function showEids() {
  const response = await fetch('/auction/last').catch(() => undefined);
  if (!response?.ok) throw new Error('The bidder cannot be reached.');
  const { user = {} } = await response.json();
  const eids = [...(user.eids ?? []), ...(user.ext?.eids ?? [])];
  const shown = eids.map(({ source, uids }) => ({
    source,
    uids: uids.map(({ atype, id }) => ({ atype, id: tail(id) })),
  }));
  $('eids').textContent = shown.length ? JSON.stringify(shown, undefined, 2) : 'None: there is no token.';
  const ids = eids.flatMap(({ uids }) => uids.map(({ id }) => id));
  const isSame = ids.includes(session.advertisingToken);
  $('same').textContent = ids.length ? (isSame ? 'It is the current token.' : 'It is not the current token.') : '';
}

$('auction').onclick = () => {
  $('same').textContent = 'Asking the bidder.';
  pbjs.requestBids({
    adUnits: [
      { code: 'top', mediaTypes: { banner: { sizes: [[300, 250]] } }, bids: [{ bidder: 'local', params: {} }] },
    ],
    bidsBackHandler: () => showEids().catch(({ message }) => ($('same').textContent = message)),
  });
};
