// The controls in `faults.html`, and the buttons that travel in time. They show and change the setting of the page's operator. The
// dashboard and the comparison, whose operator has an address and a clock of its own, share them.

import { $, post } from '/common.js';

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

/** Follow the events of the demo: apply settings, and pass each request at the operator to `onRequest`. */
export function followEvents(onRequest) {
  const events = new EventSource(`${controls}/events`);
  events.onmessage = ({ data }) => {
    const { type, setting: next, request } = JSON.parse(data);
    if (type === 'request') onRequest(request);
    if (type !== 'setting') return;
    window.demoWorld.spread(next);
    showSetting();
  };
  return events;
}

/** Why an attempt waits, in `state.next`. All tabs share the pause, whichever has failed. */
const PAUSES = {
  back_off: ': the session pauses after failures, as on any page',
  woken: ': the page has come back',
  refused: ': the session pauses after a refusal, as on any page',
  retry_after: ': the operator has asked for a pause, which no session shortens',
};

/**
 * After a failure, once the operator works again, show when the session tries again by itself.
 *
 * @param who  names the session, if the page shows several.
 */
export function showPause({ next: { at, reason } = {} }, who = '') {
  const seconds = Math.ceil((at - Date.now()) / 1000 / window.demoWorld.speed);
  const isShown = setting.fault === 'none' && reason in PAUSES && seconds > 0;
  $('pause').hidden = !isShown;
  if (!isShown) return;
  $('pause-text').textContent = `${who}The next attempt is in ${seconds} s${PAUSES[reason]}.`;
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
