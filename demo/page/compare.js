// The comparison: one frame for each runtime, the same reader and the same fault for all of them.

import { $, newReader, post } from '/common.js';

const NAMES = { 'compare/tessera': 'Tessera', 'compare/prebid': 'Prebid', 'compare/incumbent': 'UID2 JavaScript SDK' };
const hasIncumbent = $('runtimes').dataset.incumbent === 'yes';
$('missing').hidden = hasIncumbent;

const done = (text) => {
  $('done').textContent = text;
};
const change = (next) => post('/demo/setting', next).catch(({ message }) => done(message));
const { setting } = window.demoWorld;
const showSetting = () => {
  for (const input of document.querySelectorAll('#faults input'))
    input.checked = String(setting[input.name]) === input.value;
};
$('faults').onchange = ({ target }) =>
  change({ [target.name]: target.name === 'skewMs' ? Number(target.value) : target.value });
for (const button of document.querySelectorAll('[data-travel]'))
  button.onclick = () => change({ shiftMs: setting.shiftMs + Number(button.dataset.travel) });

/** Requests by runtime since this page was opened. */
const counts = {};
const showCounts = () => {
  $('counts').replaceChildren(
    ...Object.entries(NAMES).flatMap(([from, name]) => {
      if (from === 'compare/incumbent' && !hasIncumbent) return [];
      const item = document.createElement('div');
      const term = item.appendChild(document.createElement('dt'));
      const value = item.appendChild(document.createElement('dd'));
      term.textContent = `${name}: refreshes sent`;
      value.textContent = counts[from] ?? 0;
      return [item];
    }),
  );
  $('no-requests').hidden = Object.keys(counts).length > 0;
};
const openedAt = Date.now() - 1000;
new EventSource('/demo/events').onmessage = ({ data }) => {
  const { type, setting: next, request } = JSON.parse(data);
  if (type === 'request' && NAMES[request.from] && request.at >= openedAt) {
    counts[request.from] = (counts[request.from] ?? 0) + 1;
    showCounts();
  }
  if (type !== 'setting') return;
  window.demoWorld.spread(next);
  showSetting();
};

/** Sign a new reader of this page in, and open the frames. */
const begin = async () => {
  await post('/compare/sign-in', { email: newReader() });
  const frames = Object.keys(NAMES).filter((name) => hasIncumbent || !name.endsWith('incumbent'));
  $('runtimes').replaceChildren(
    ...frames.map((name) => Object.assign(document.createElement('iframe'), { src: `/${name}`, title: NAMES[name] })),
  );
};
$('again').onclick = () => {
  for (const name of Object.keys(counts)) delete counts[name];
  showCounts();
  change({ fault: 'none', skewMs: 0 });
  localStorage.clear();
  indexedDB.deleteDatabase('compare');
  begin().catch(({ message }) => done(message));
};
showSetting();
showCounts();
localStorage.clear();
indexedDB.deleteDatabase('compare').onblocked = () => {};
begin().catch(({ message }) => done(message));
