// One more tab with the same session. Its Inspector is hidden: that of the cockpit has a lane for it.

import { $, operator, provide, showToken } from '/common.js';
import '/inspector.js';

const CAUSES = {
  set: 'from the page',
  provide: "from the publisher's server",
  refresh: 'refreshed in this tab',
  tab: 'from another tab',
  load: 'from storage',
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
  const seconds = next?.at === undefined ? '' : ` in ${Math.max(0, Math.round((next.at - Date.now()) / 1000))} s`;
  $('next').textContent = next ? `${next.action}${seconds} (${next.reason.replaceAll('_', ' ')})` : '';
  if (expiresAt === undefined) $('cause').textContent = 'none yet';
};
show();
setInterval(() => document.hidden || show(), 1000);
