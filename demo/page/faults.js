// The controls in `faults.html`, and the buttons that travel in time. They show and change the setting of the page's operator. The
// dashboard and the comparison, whose operator has an address and a clock of its own, share them.

import { $, post } from '/common.js';
import { inspect } from '/inspector.js';

/** The setting of the demo, kept up to date by `world.js`. */
export const { setting } = window.demoWorld;

/** The address of the operator's controls: `/demo` or `/compare/demo`. */
const { controls } = document.querySelector('meta[name=demo]').dataset;

/** Report what a control has done, or why it failed. */
export const done = (text) => {
  $('done').textContent = text;
};

/** Change the setting. The event that follows applies it to all pages. */
export const change = (next) => post(`${controls}/setting`, next).catch(({ message }) => done(message));

export const travel = (ms) => change({ shiftMs: setting.shiftMs + Math.round(ms) });

const showSetting = () => {
  for (const input of document.querySelectorAll('#faults input'))
    input.checked = String(setting[input.name]) === input.value;
};

/** Follow the events of the demo: apply settings, pass requests at the operator to `onRequest`, reports of page views to `onView`. */
export function followEvents(onRequest, onView = () => {}) {
  const events = new EventSource(`${controls}/events`);
  events.onmessage = ({ data }) => {
    const { type, setting: next, request, view } = JSON.parse(data);
    if (type === 'request') onRequest(request);
    if (type === 'view') onView(view);
    if (type !== 'setting') return;
    window.demoWorld.spread(next);
    showSetting();
  };
  return events;
}

/** The reasons in `state.next` of a pause after a failure. All tabs share the pause, whichever has failed. */
const PAUSES = ['back_off', 'woken', 'refused', 'retry_after'];

/**
 * After a failure, once the operator works again, show when the session tries again by itself.
 *
 * @param who  names the session, if the page shows several.
 */
export function showPause(session, who = '') {
  const { at, reason } = session.state.next ?? {};
  const seconds = Math.ceil((at - Date.now()) / 1000 / window.demoWorld.speed);
  const isShown = setting.fault === 'none' && PAUSES.includes(reason) && seconds > 0;
  $('pause').hidden = !isShown;
  if (!isShown) return;
  // The Inspector's words are at the end of its second sentence.
  const [, why] = /\(([^(]+)\)\.$/.exec(inspect(session).explain());
  $('pause-text').textContent = `${who}The next attempt is in ${seconds} s (${why}).`;
  $('refresh-now').hidden = reason === 'retry_after';
}

/** Refresh at once, and say how that ended. */
export const refreshNow = (session) =>
  session.refresh().then(
    () => done('There is a new token.'),
    ({ message }) => done(message),
  );

$('faults').addEventListener('change', ({ target: { name, value } }) =>
  change({ [name]: typeof setting[name] === 'number' ? Number(value) : value }),
);
for (const button of document.querySelectorAll('[data-travel]'))
  button.onclick = () => travel(Number(button.dataset.travel));
showSetting();
