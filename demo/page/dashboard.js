// The dashboard: a publisher's page with a session and its Inspector, and the controls for clock, storage and operator.

import { $, formatTime, operator, post, provide, showBars, showFigures, showReader, showToken } from '/common.js';
import { done, followEvents, refreshNow, showPause, travel } from '/faults.js';
import '/inspector.js';

/** Number the windows of the dashboard: each has the lowest number that is free, and four tabs. */
const windowNumber = async () => {
  for (let number = 1; ; number++) {
    const isOurs = await new Promise((resolve) =>
      navigator.locks.request(`demo-window-${number}`, { ifAvailable: true }, (lock) => {
        resolve(lock !== null);
        // Until this window is closed.
        return lock && new Promise(() => {});
      }),
    );
    if (isOurs) return number;
  }
};
const firstTab = 4 * (await windowNumber()) - 3;
// The operator's log has the label from the address.
if (firstTab > 1) history.replaceState(null, '', `?label=Tab ${firstTab}`);
$('inspector').setAttribute('label', `Tab ${firstTab}`);
$('tabs').replaceChildren(
  ...[1, 2, 3].map((number) => {
    const title = `Tab ${firstTab + number}`;
    return Object.assign(document.createElement('iframe'), { src: `/tab?label=${title}`, title });
  }),
);

// region session
const session = window.tessera.createSession({ baseUrl: operator, provide });
// endregion

// region inspector
// The Inspector needs only the session.
$('inspector').session = session;
// endregion

showReader(session);
showToken(session);
setInterval(() => document.hidden || show(), 1000);

/** Show the times of the set in force, by this device's clock. */
function show() {
  showPause(session);
  const { refreshAt, expiresAt, endsAt, persistence, clockOffsetMs = 0 } = session.state;
  $('facts').hidden = expiresAt === undefined;
  if (expiresAt === undefined) return;
  const left = (instant) => {
    const seconds = Math.round((instant - clockOffsetMs - Date.now()) / 1000);
    return seconds < 0 ? 'passed' : seconds < 120 ? `in ${seconds} s` : `at ${formatTime(instant - clockOffsetMs)}`;
  };
  const facts = {
    'Refresh due': left(refreshAt),
    Expires: left(expiresAt),
    'Refresh token expires': left(endsAt),
    'Stored in': persistence === 'indexeddb' ? 'IndexedDB' : persistence,
    Clock: Math.abs(clockOffsetMs) < 1000 ? 'correct' : `${Math.round(clockOffsetMs / -1000)} s off`,
  };
  const parts = Object.entries(facts).flatMap(([name, text]) => [
    Object.assign(document.createElement('dt'), { textContent: name }),
    Object.assign(document.createElement('dd'), { textContent: text }),
  ]);
  $('facts').replaceChildren(...parts);
}

const attempt = async (work) => {
  try {
    await work();
  } catch (error) {
    done(error.message);
  }
};

$('faults').addEventListener('change', ({ target }) => {
  if (target.name === 'refreshSeconds') done('Applies from the next token.');
});
/** Travel to just after an instant in the service's time. */
const travelTo = (instant, what) => {
  if (instant === undefined) return done('There is no token: sign in first.');
  const { clockOffsetMs = 0 } = session.state;
  const ms = instant - Date.now() - clockOffsetMs + 500;
  if (ms > 0) travel(ms);
  done(ms > 0 ? `Travelled past ${what}.` : `The clock is already past ${what}.`);
};
$('expire').onclick = () => travelTo(session.state.expiresAt, 'the expiry of the token');
$('end').onclick = () => travelTo(session.state.endsAt, 'the expiry of the refresh token');
$('refresh').onclick = $('refresh-now').onclick = () => refreshNow(session);
$('restart').onclick = () =>
  attempt(async () => {
    await post('/demo/restart');
    done('The operator has a new root secret: it no longer accepts earlier tokens.');
  });
/** Delete the record, including what a sign-out keeps: that the last reader has opted out. Refused storage contains no record. */
const deleteDatabase = (name) =>
  new Promise((resolve) => {
    const request = indexedDB.deleteDatabase(name);
    request.onsuccess = request.onerror = request.onblocked = resolve;
  });
$('start-over').onclick = () =>
  attempt(async () => {
    await post('/sign-out');
    // Refused storage confirms nothing; the database is deleted below.
    await session.clear({ forget: true }).catch(() => {});
    await post('/demo/start-over');
    session.close();
    await deleteDatabase('tessera');
    location.reload();
  });

/** The log of requests, newest first. */
const showRequest = ({ at, from, path, status, ms }) => {
  const row = $('requests').insertRow(0);
  for (const text of [formatTime(at), from, path.replace(/^\/v\d\//, ''), status, `${ms} ms`])
    row.insertCell().textContent = text;
  if (status !== '200') row.cells[3].className = 'bad';
  if ($('requests').rows.length > 12) $('requests').deleteRow(-1);
  $('no-requests').hidden = true;
};
// region vitals
// The share of page views with a token, the time to it, and why the others had none.
const views = [];
const REASONS = {
  host: 'nobody is signed in',
  provide: "the publisher's server had not answered",
  refresh: 'the operator had not answered',
};
const hadToken = ({ tokenMs }) => tokenMs !== undefined;
const showView = (view) => {
  views.push(view);
  const withToken = views.filter(hadToken);
  const times = views.flatMap(({ tokenMs = [] }) => tokenMs).sort((one, other) => one - other);
  showFigures($('views'), [
    ['Page views', views.length],
    ['With a token', `${Math.round((100 * withToken.length) / views.length)} %`],
    ['Time to the token, median', times.length ? `${times[Math.floor(times.length / 2)]} ms` : '-'],
  ]);
  const counts = {};
  for (const { waitingFor, lastError, nextReason } of views.filter((one) => !hadToken(one))) {
    const reason = waitingFor ?? lastError ?? nextReason;
    const text = `Without: ${REASONS[reason] ?? reason}`;
    counts[text] = (counts[text] ?? 0) + 1;
  }
  showBars(
    $('reasons'),
    Object.entries(counts).map(([text, count]) => [text, count, count]),
  );
};
// endregion

// The server sends all requests and reports again on a new connection.
followEvents(showRequest, showView).onopen = () => {
  $('requests').textContent = '';
  views.length = 0;
};
