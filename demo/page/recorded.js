// The figures that `npm run compare` has recorded: what each client does in scenarios that take longer than a visit of this page.

import { $, get, showBars } from '/common.js';

const { date, engine, clients, missing = '', rows } = await get('/recorded.json');
const number = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 });
const add = (name, textContent, className = '') =>
  $('recorded').appendChild(Object.assign(document.createElement(name), { textContent, className }));

const versions = clients.map(({ label, version }) => `${label} ${version}`);
$('recorded-with').textContent = `Less is better. ${versions.join(', ')}; ${engine}; ${date}. ${missing}`;
for (const { title, axis, unit, without = 'not measured', values } of rows) {
  add('h3', title);
  add('p', axis, 'hint');
  showBars(
    add('div', '', 'bars'),
    clients.map(({ label }, index) => {
      const value = values[index];
      return [label, value ?? 0, value === null ? without : `${number.format(value)} ${unit}`];
    }),
  );
}
