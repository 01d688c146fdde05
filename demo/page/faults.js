// The controls in `faults.html`, and the buttons that travel in time. They show and change the setting of the demo. The dashboard
// and the comparison share them; only the dashboard shows when its session tries again.

import { $, post } from '/common.js';

/** The setting of the demo, kept up to date by `world.js`. */
export const { setting } = window.demoWorld;

/** Report what a control has done, or why it failed. */
export const done = (text) => {
  $('done').textContent = text;
};

/** Change the setting. The event that follows applies it to all pages. */
export const change = (next) => post('/demo/setting', next).catch(({ message }) => done(message));

export const travel = (ms) => change({ shiftMs: setting.shiftMs + Math.round(ms) });

const showSetting = () => {
  for (const input of document.querySelectorAll('#faults input'))
    input.checked = String(setting[input.name]) === input.value;
};

/** Follow the events of the demo: apply settings, and pass each request at the operator to `onRequest`. */
export function followEvents(onRequest) {
  const events = new EventSource('/demo/events');
  events.onmessage = ({ data }) => {
    const { type, setting: next, request } = JSON.parse(data);
    if (type === 'request') onRequest(request);
    if (type !== 'setting') return;
    window.demoWorld.spread(next);
    showSetting();
  };
  return events;
}

$('faults').addEventListener('change', ({ target: { name, value } }) =>
  change({ [name]: typeof setting[name] === 'number' ? Number(value) : value }),
);
for (const button of document.querySelectorAll('[data-travel]'))
  button.onclick = () => travel(Number(button.dataset.travel));
showSetting();
