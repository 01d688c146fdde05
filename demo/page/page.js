// What a publisher's page does with a session: shows it. The session itself needs none of this code.

const $ = (id) => document.getElementById(id);

const MEANINGS = {
  empty: 'Nobody is signed in, so there is no token.',
  fresh: 'In force. The session wakes when it is time to refresh.',
  due: 'Still in force, and due for a refresh.',
  stale: 'Expired. No token is given out until a refresh brings another.',
  ended: 'The operator has ended the refresh token. Sign in again for a new set.',
  optedOut: 'This reader has opted out: no token, and nothing kept but that fact.',
};

const ending = (token) => `... ${token.slice(-8)}`;
const shortened = (token) => `${token.slice(0, 16)} ... ${token.slice(-8)}`;
const clock = (instant) => new Date(instant).toLocaleTimeString('en-GB');

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

// Before the file of the script tag has arrived, this is an array: the session calls back when it is there.
window.tessera = window.tessera || [];
window.tessera.push(({ session }) => {
  showSession(session);
  showEvents(session);
  showReader(session);
});

/** Token, phase and times, whenever the session says that something has changed, and once a second for the bars. */
function showSession(session) {
  // The longest time to go that was seen of each instant: what a full bar stands for.
  const longest = new Map();

  const showTime = (id, instant, now) => {
    const left = instant - now;
    const key = `${id} ${instant}`;
    if (!longest.has(key)) longest.set(key, Math.max(left, 1));
    $(id).dateTime = new Date(instant).toISOString();
    $(id).textContent = `${clock(instant)}, ${left > 0 ? `in ${Math.ceil(left / 1000)} s` : 'passed'}`;
    const bar = $(`${id}-left`);
    bar.max = longest.get(key);
    bar.value = Math.max(left, 0);
  };

  const show = () => {
    const { phase, refreshAt, expiresAt, endsAt, clockOffsetMs = 0 } = session.state;
    const token = session.advertisingToken;
    const now = Date.now() + clockOffsetMs;
    $('phase').textContent = phase === 'optedOut' ? 'opted out' : phase;
    $('phase').dataset.phase = phase;
    $('token').textContent = token ? shortened(token) : 'no token';
    $('meaning').textContent = MEANINGS[phase];
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
  $('refresh').onclick = () => session.refresh().catch(() => {}); // what failed is in the events
}

/** Every event, newest first. */
function showEvents(session) {
  const add = (name, text) => {
    const row = $('events').insertRow(0);
    row.insertCell().textContent = clock(Date.now());
    row.insertCell().textContent = name;
    row.insertCell().textContent = text;
    if ($('events').rows.length > 50) $('events').deleteRow(-1);
    $('no-events').hidden = true;
  };
  const causes = {
    set: 'from the publisher',
    refresh: 'refreshed here',
    tab: 'from another tab',
    load: 'from storage',
  };

  const needs = {
    empty: 'nobody is signed in',
    ended: 'the refresh token has ended',
    refused: 'the operator keeps refusing the refresh token',
  };

  session.on('token', ({ advertisingToken, cause }) => add('token', `${ending(advertisingToken)}, ${causes[cause]}`));
  session.on('expired', ({ token }) => add('expired', `the ${token} token`));
  session.on('optout', () => add('optout', 'the reader has opted out'));
  session.on('needsTokens', ({ reason }) => add('needsTokens', needs[reason]));
  session.on('error', ({ code, message }) => add('error', `${code}: ${message}`));
}

/** Who is signed in, according to the publisher's server. */
function showReader(session) {
  const show = async () => {
    const response = await fetch('/me');
    const email = response.status === 200 ? (await response.json()).email : undefined;
    $('who').textContent = email ?? '';
    $('signed-in').hidden = !email;
    $('sign-in').hidden = Boolean(email);
  };

  const doing = (work) => async (event) => {
    event.preventDefault();
    $('problem').hidden = true;
    try {
      await work();
      await show();
    } catch (error) {
      // That is what the page says anyway.
      if (error.code === 'opted_out') return show();
      $('problem').textContent = error.message;
      $('problem').hidden = false;
    }
  };

  $('sign-in').onsubmit = doing(async () => {
    const answer = await post('/sign-in', { email: $('email').value });
    await session.setTokens(answer);
  });
  $('sign-out').onclick = doing(async () => {
    await post('/sign-out');
    await session.clear();
  });
  $('opt-out').onclick = doing(async () => {
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
