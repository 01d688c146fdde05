// One more tab with the same session. Its Inspector is hidden, because the dashboard's Inspector has a lane for it.

import { $, operator, provide, showToken } from '/common.js';
import '/inspector.js';

const CAUSES = {
  set: 'from the page',
  provide: "from the publisher's server",
  refresh: 'refreshed in this tab',
  tab: 'from another tab',
  load: 'from storage',
};

const ACTIONS = { refresh: 'refresh', provide: 'a new set', expire: 'expiry' };
// Why the session waits, other than for the time of the refresh or of the expiry.
const REASONS = {
  in_progress: 'in progress',
  other_tab: 'left to another tab',
  back_off: 'pause after a failure',
  retry_after: 'pause that the operator asked for',
  page: 'after a sign-in',
};

const nextText = ({ at, action, reason }) => {
  const seconds = at === undefined ? '' : ` in ${Math.max(0, Math.round((at - Date.now()) / 1000))} s`;
  return ACTIONS[action] + seconds + (REASONS[reason] ? `, ${REASONS[reason]}` : '');
};

const label = new URLSearchParams(location.search).get('label') ?? 'A tab';
$('label').textContent = label;
document.title = label;

// region tab
const session = window.tessera.createSession({ baseUrl: operator, provide });
session.on('token', ({ cause }) => {
  $('cause').textContent = CAUSES[cause];
});
// endregion

const inspector = document.querySelector('tessera-inspector');
inspector.setAttribute('label', label);
inspector.session = session;
const showNow = showToken(session);
const show = () => {
  showNow();
  const { next, expiresAt } = session.state;
  $('next').textContent = next ? nextText(next) : '';
  if (expiresAt === undefined) $('cause').textContent = 'none yet';
};
show();
setInterval(() => document.hidden || show(), 1000);
