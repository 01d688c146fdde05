// The comparison: one frame for each runtime. All of them have the same reader and the same fault.

import { $, newReader, post, showFigures } from '/common.js';
import { change, done, followEvents, refreshNow, showPause } from '/faults.js';

const NAMES = { 'compare/tessera': 'Tessera', 'compare/prebid': 'Prebid', 'compare/incumbent': 'UID2 JavaScript SDK' };
const { prebid, incumbent, after } = $('runtimes').dataset;
const isHere = {
  'compare/tessera': true,
  'compare/prebid': prebid === 'yes',
  'compare/incumbent': incumbent === 'yes',
};
const running = Object.keys(NAMES).filter((name) => isHere[name]);
$('no-prebid').hidden = isHere['compare/prebid'];
$('no-incumbent').hidden = isHere['compare/incumbent'];

/** The window of a client's frame. */
const windowOf = (from) => document.querySelector(`iframe[title="${NAMES[from]}"]`)?.contentWindow;

/** Requests by runtime since this page was opened. */
const counts = {};
const showCounts = () => {
  // A frame whose packages are being installed measures nothing yet.
  const isMeasured = (name) => windowOf(name)?.measured;
  const names = (some) => some.map((name) => NAMES[name]).join(', ');
  $('running').textContent = names(running.filter(isMeasured)) || 'none yet';
  $('starting').textContent = names(running.filter((name) => !isMeasured(name)));
  $('not-yet').hidden = running.every(isMeasured);
  showFigures(
    $('counts'),
    running.flatMap((from) => {
      const { none = 0, expired = 0 } = windowOf(from)?.measured ?? {};
      return [
        [`${NAMES[from]}: without a valid token`, `${Math.round((none + expired) / 1000)} s`],
        [`${NAMES[from]}: refreshes sent`, counts[from] ?? 0],
      ];
    }),
  );
  const { session } = windowOf('compare/tessera') ?? {};
  if (session) showPause(session, 'Tessera: ');
};
window.demoWorld.realInterval(showCounts, 500);
$('refresh-now').onclick = () => refreshNow(windowOf('compare/tessera').session);
// The server sends all requests again on a new connection.
let counted = Number(after);
followEvents(({ id, from }) => {
  if (!NAMES[from] || id <= counted) return;
  counted = id;
  counts[from] = (counts[from] ?? 0) + 1;
  showCounts();
});

/** Sign in a new reader for this page, and open the frames. */
const begin = async () => {
  await post('/compare/sign-in', { email: newReader() });
  const frames = running.map((name) =>
    Object.assign(document.createElement('iframe'), { src: `/${name}`, title: NAMES[name] }),
  );
  $('runtimes').replaceChildren(...frames);
};
$('again').onclick = () => {
  for (const name of Object.keys(counts)) delete counts[name];
  showCounts();
  change({ fault: 'none', skewMs: 0 });
  localStorage.clear();
  indexedDB.deleteDatabase('compare');
  begin().catch(({ message }) => done(message));
};
showCounts();
localStorage.clear();
indexedDB.deleteDatabase('compare').onblocked = () => {};
begin().catch(({ message }) => done(message));
