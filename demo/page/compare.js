// The comparison: one frame for each runtime. All of them have the same reader and the same fault.

import { $, newReader, post } from '/common.js';
import { change, done, followEvents } from '/faults.js';

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
$('running').textContent = running.map((name) => NAMES[name]).join(', ');

/** Requests by runtime since this page was opened. */
const counts = {};
const showCounts = () => {
  $('counts').replaceChildren(
    ...running.map((from) => {
      const item = document.createElement('div');
      const term = item.appendChild(document.createElement('dt'));
      const value = item.appendChild(document.createElement('dd'));
      term.textContent = `${NAMES[from]}: refreshes sent`;
      value.textContent = counts[from] ?? 0;
      return item;
    }),
  );
  $('no-requests').hidden = Object.keys(counts).length > 0;
};
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
