// Shows the session on the page. The session itself needs none of this code.

const $ = (id) => document.getElementById(id);

const MEANINGS = {
  empty: 'Nobody is signed in, so there is no token.',
  fresh: 'In force. The session refreshes it when it is due.',
  due: 'In force, and due for a refresh.',
  stale: 'Expired. No token is given out until a refresh brings a new one.',
  ended: 'The operator no longer accepts the refresh token. Sign in again for a new set.',
  optedOut: 'This reader has opted out: there is no token, and only the opt-out is stored.',
};

const endOf = (token) => `... ${token.slice(-8)}`;
const shorten = (token) => `${token.slice(0, 16)} ... ${token.slice(-8)}`;
const formatTime = (instant) => new Date(instant).toLocaleTimeString('en-GB');

const post = async (path, body) => {
  const response = await fetch(path, {
    method: 'POST',
    headers: body ? { 'content-type': 'application/json' } : {},
    body: body && JSON.stringify(body),
  });
  const answer = response.status === 204 ? undefined : await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(answer?.message ?? `${path} answered ${response.status}`);
  return answer;
};

// Until the script tag has loaded, `tessera` is an array; then each function in it is called.
window.tessera = window.tessera || [];
window.tessera.push(({ session }) => {
  showSession(session);
  showEvents(session);
  showReader(session);
});

/** Say what the session will do next, and why. */
const nextText = (next) => {
  if (!next) return '';
  const seconds = next.at === undefined ? undefined : Math.max(0, Math.round((next.at - Date.now()) / 1000));
  return `Next: ${next.action}${seconds === undefined ? '' : ` in ${seconds} s`} (${next.reason})`;
};

/** Show token, phase and times after every change, and once a second for the progress bars. */
function showSession(session) {
  // For each instant the longest remaining time so far, ms: the length of a full progress bar.
  const longest = new Map();

  const showTime = (id, instant, now) => {
    const left = instant - now;
    const key = `${id} ${instant}`;
    if (!longest.has(key)) longest.set(key, Math.max(left, 1));
    $(id).dateTime = new Date(instant).toISOString();
    $(id).textContent = `${formatTime(instant)}, ${left > 0 ? `in ${Math.ceil(left / 1000)} s` : 'passed'}`;
    const bar = $(`${id}-left`);
    bar.max = longest.get(key);
    bar.value = Math.max(left, 0);
  };

  const show = () => {
    const { phase, refreshAt, expiresAt, endsAt, clockOffsetMs = 0, next } = session.state;
    const token = session.advertisingToken;
    const now = Date.now() + clockOffsetMs;
    $('phase').textContent = phase === 'optedOut' ? 'opted out' : phase;
    $('phase').dataset.phase = phase;
    $('token').textContent = token ? shorten(token) : 'no token';
    $('meaning').textContent = MEANINGS[phase];
    $('next').textContent = nextText(next);
    $('times').hidden = expiresAt === undefined;
    if (expiresAt !== undefined) {
      showTime('refreshAt', refreshAt, now);
      showTime('expiresAt', expiresAt, now);
      showTime('endsAt', endsAt, now);
    }
    $('opt-out').disabled = phase === 'optedOut';
    $('refresh').disabled = phase === 'empty' || phase === 'ended' || phase === 'optedOut';
  };

  session.subscribe(show);
  setInterval(() => document.hidden || show(), 1000);
  show();
  $('refresh').onclick = () => session.refresh().catch(() => {}); // the failure is in the list of events
}

/** List every event, newest first. */
function showEvents(session) {
  const add = (name, text) => {
    const row = $('events').insertRow(0);
    row.insertCell().textContent = formatTime(Date.now());
    row.insertCell().textContent = name;
    row.insertCell().textContent = text;
    if ($('events').rows.length > 50) $('events').deleteRow(-1);
    $('no-events').hidden = true;
  };
  const causes = {
    set: 'from the page',
    provide: "from the publisher's server",
    refresh: 'refreshed here',
    tab: 'from another tab',
    load: 'from storage',
  };

  const needs = {
    empty: 'nobody is signed in',
    ended: 'the refresh token has ended',
    refused: 'the operator has refused the refresh token several times',
  };

  session.on('token', ({ advertisingToken, cause }) => add('token', `${endOf(advertisingToken)}, ${causes[cause]}`));
  session.on('expired', ({ token }) => add('expired', `the ${token} token`));
  session.on('optout', () => add('optout', 'the reader has opted out'));
  session.on('needsTokens', ({ reason }) => add('needsTokens', needs[reason]));
  session.on('error', ({ code, message }) => add('error', `${code}: ${message}`));
}

/** Show who is signed in at the publisher's server. */
function showReader(session) {
  const show = async () => {
    const response = await fetch('/me');
    const email = response.status === 200 ? (await response.json()).email : undefined;
    $('who').textContent = email ?? '';
    $('signed-in').hidden = !email;
    $('sign-in').hidden = Boolean(email);
  };

  const handle = (work) => async (event) => {
    event.preventDefault();
    $('problem').hidden = true;
    try {
      await work();
      await show();
    } catch (error) {
      // The page already shows that this reader has opted out.
      if (error.code === 'opted_out') return show();
      $('problem').textContent = error.message;
      $('problem').hidden = false;
    }
  };

  $('sign-in').onsubmit = handle(async () => {
    const answer = await post('/sign-in', { email: $('email').value });
    await session.setTokens(answer);
  });
  $('sign-out').onclick = handle(async () => {
    await post('/sign-out');
    await session.clear();
  });
  $('opt-out').onclick = handle(async () => {
    await post('/opt-out');
    await session.refresh();
  });
  for (const example of document.querySelectorAll('[data-email]')) {
    example.onclick = () => {
      $('email').value = example.dataset.email;
      $('email').focus();
    };
  }

  // Another tab may have signed in or out.
  document.addEventListener('visibilitychange', () => document.hidden || show());
  session.subscribe(
    ((phase) => () => {
      if (phase !== session.state.phase) show();
      phase = session.state.phase;
    })(),
  );
  show();
}
