// A mock consent platform, and a session that waits for it: before the user agrees, nothing is stored and nothing is sent.

import { $, newReader, operator, post, provide, showToken } from '/common.js';
import { gppConsent, tcfConsent } from '/consent.js';

const framework = new URLSearchParams(location.search).get('framework') === 'gpp' ? 'gpp' : 'tcf';
document.querySelector(`[value=${framework}]`).checked = true;
$('choices').onchange = ({ target }) => location.assign(`?framework=${target.value}`);

/** The user's answer: undefined until there is one. */
let isGranted;
const listeners = new Set();

const tcData = (listenerId) => ({
  // A string without a segment of disclosed vendors, created before that segment was required.
  tcString: 'CPXxRfAPXxRfAAfKABENB-CgAAAAAAAAAAYgAAAAAAAA',
  tcfPolicyVersion: 4,
  gdprApplies: true,
  cmpStatus: 'loaded',
  eventStatus: isGranted === undefined ? 'cmpuishown' : 'useractioncomplete',
  isServiceSpecific: true,
  listenerId,
  purpose: { consents: { 1: isGranted === true }, legitimateInterests: {} },
  vendor: { consents: { 21: isGranted === true }, legitimateInterests: {} },
  publisher: { restrictions: {} },
});
const pingData = () => ({
  gppVersion: '1.1',
  cmpStatus: 'loaded',
  cmpDisplayStatus: isGranted === undefined ? 'visible' : 'hidden',
  signalStatus: isGranted === undefined ? 'not ready' : 'ready',
  supportedAPIs: ['7:usnat'],
  sectionList: [7],
  applicableSections: [7],
  gppString: 'DBABLA~toy',
  parsedSections: {
    usnat: [
      {
        Version: 1,
        SaleOptOut: isGranted ? 2 : 1,
        SharingOptOut: isGranted ? 2 : 1,
        TargetedAdvertisingOptOut: isGranted ? 2 : 1,
        SaleOptOutNotice: 1,
        SharingOptOutNotice: 1,
        TargetedAdvertisingOptOutNotice: 1,
        SensitiveDataProcessing: [],
        KnownChildSensitiveDataConsents: [],
        MspaCoveredTransaction: 2,
      },
    ],
  },
});

let lastId = 0;
const listen = (call) => {
  listeners.add(call);
  call();
};
if (framework === 'tcf') {
  window.__tcfapi = (command, _version, callback) => {
    if (command === 'ping') callback({ gdprApplies: true, cmpLoaded: true, cmpStatus: 'loaded' }, true);
    if (command !== 'addEventListener') return;
    const id = ++lastId;
    listen(() => callback(tcData(id), true));
  };
} else {
  window.__gpp = (command, callback) => {
    if (command === 'ping') callback(pingData(), true);
    if (command !== 'addEventListener') return;
    const listenerId = ++lastId;
    listen(() =>
      callback(
        {
          eventName: 'signalStatus',
          listenerId,
          data: isGranted === undefined ? 'not ready' : 'ready',
          pingData: pingData(),
        },
        true,
      ),
    );
  };
}

// region gate
const consent = framework === 'tcf' ? tcfConsent() : gppConsent();
const session = window.tessera.createSession({ baseUrl: operator, name: 'demo-consent', provide, consent });
// endregion

const show = showToken(session);
const showMore = async () => {
  show();
  $('waiting').textContent = session.state.waitingFor ?? 'nothing';
  const databases = (await indexedDB.databases?.()) ?? [];
  $('databases').textContent = databases.some(({ name }) => name === 'demo-consent')
    ? 'demo-consent'
    : 'none of this session';
  const requests = performance.getEntriesByType('resource').filter(({ name }) => /\/(token|refresh)$/.test(name));
  $('requests').textContent = `${requests.length} by the session`;
};
setInterval(showMore, 500);
showMore();

const answer = (granted, text) => {
  isGranted = granted;
  $('answer').textContent = text;
  for (const call of listeners) call();
};
$('accept').onclick = () => answer(true, 'The user agrees.');
$('refuse').onclick = () => answer(false, 'The user refuses: the stored user data is erased.');
$('unset').onclick = () => location.reload();
$('sign-in-now').onclick = async () => {
  $('problem').textContent = '';
  try {
    const set = await post('/sign-in', { email: newReader() });
    await session.setTokens(set);
  } catch ({ message }) {
    $('problem').textContent = message;
  }
};
