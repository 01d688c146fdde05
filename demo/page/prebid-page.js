// The real Prebid.js: connected to the session by one call, with a bidder on this machine.

import { $, operator, provide, showReader, showToken, tail } from '/common.js';
import { connectPrebid } from '/prebid.js';

// region connect
const session = window.tessera.createSession({ baseUrl: operator, provide });
connectPrebid(session);
// endregion

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
showReader(session);
showToken(session);
$('refresh').onclick = () => session.refresh().catch(({ message }) => ($('same').textContent = message));

/** What leaves the page: read from the request itself. */
const sent = (entry) => {
  const { user = {} } = JSON.parse(entry);
  return [...(user.eids ?? []), ...(user.ext?.eids ?? [])];
};
const realFetch = window.fetch;
window.fetch = async (input, init) => {
  const request = new Request(input, init);
  if (request.url.endsWith('/auction')) showEids(sent(await request.clone().text()));
  return realFetch(request);
};

function showEids(eids) {
  const shown = eids.map(({ source, uids }) => ({
    source,
    uids: uids.map(({ atype, id }) => ({ atype, id: tail(id) })),
  }));
  $('eids').textContent = shown.length ? JSON.stringify(shown, undefined, 2) : 'None: nobody is signed in.';
  const ids = eids.flatMap(({ uids }) => uids.map(({ id }) => id));
  const isSame = ids.includes(session.advertisingToken);
  $('same').textContent = ids.length ? (isSame ? 'It is the token in force.' : 'It is not the token in force.') : '';
}

$('auction').onclick = () => {
  pbjs.requestBids({
    adUnits: [
      { code: 'top', mediaTypes: { banner: { sizes: [[300, 250]] } }, bids: [{ bidder: 'local', params: {} }] },
    ],
  });
};
