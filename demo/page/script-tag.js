// Shows the session that the script tag has created. The session itself needs none of this code.

import { $, formatTime, phaseText, showReader, showToken } from '/common.js';

const CAUSES = {
  set: 'set by the page',
  provide: "from the publisher's server",
  refresh: 'refreshed here',
  tab: 'from another tab',
  load: 'from storage',
};
const NEEDS = {
  empty: 'nobody is signed in',
  ended: 'the operator no longer accepts the refresh token',
  refused: 'the operator has refused the refresh token several times',
};

const add = (name, text) => {
  const row = $('events').insertRow(0);
  for (const cell of [formatTime(Date.now()), name, text]) row.insertCell().textContent = cell;
  if ($('events').rows.length > 50) $('events').deleteRow(-1);
  $('no-events').hidden = true;
};

window.tessera.push(({ session }) => {
  // region events
  session.on('token', ({ advertisingToken, cause }) =>
    add('token', `ends in ${advertisingToken.slice(-8)}, ${CAUSES[cause]}`),
  );
  session.on('expired', ({ token }) => add('expired', `the ${token} token`));
  session.on('optout', () => add('optout', 'the reader has opted out'));
  session.on('needsTokens', ({ reason }) => add('needsTokens', NEEDS[reason]));
  session.on('error', ({ message }) => add('error', message));
  // endregion
  let { phase } = session.state;
  session.subscribe(() => {
    if (phase === session.state.phase) return;
    // A sign-out has no event, but the state shows it.
    if (session.state.phase === 'empty') add('signed out', 'the session has no token set');
    else add('phase', `${phaseText(phase)}, then ${phaseText(session.state.phase)}`);
    phase = session.state.phase;
  });
  showReader(session);
  showToken(session);
  $('refresh').onclick = () => session.refresh().catch(({ message }) => add('refresh', message));
  $('inspect').onclick = () =>
    document.head.append(Object.assign(document.createElement('script'), { src: '/tessera-inspector.js' }));
});
