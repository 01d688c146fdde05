// Shared code of the demo pages: short names for the DOM, calls of the publisher's server, and the panel of the reader.

export const $ = (id) => document.getElementById(id);

export const operator = document.querySelector('meta[name=operator]').content;

export const formatTime = (instant) => new Date(instant).toLocaleTimeString('en-GB');

export const tail = (token) => (token ? `ends in ${token.slice(-8)}` : 'none');

const call = async (path, options) => {
  const response = await fetch(path, options).catch(() => {
    throw new Error("The publisher's server cannot be reached. Is the demo still running?");
  });
  const { status } = response;
  const answer = status === 204 ? undefined : await response.json().catch(() => ({}));
  if (!response.ok) throw Object.assign(new Error(answer?.message ?? `${path} answered ${status}`), { status });
  return answer;
};

/** GET from the publisher's server. Rejects with a message for the visitor, and the HTTP status if the server has answered. */
export const get = (path) => call(path);

/** POST to the publisher's server. Rejects as `get` does. */
export const post = (path, body) => {
  const headers = body ? { 'content-type': 'application/json' } : {};
  return call(path, { method: 'POST', headers, body: body && JSON.stringify(body) });
};

// region provide
/** Ask the publisher's server for a set. 204 means that nobody is signed in. */
export async function provide({ signal }, path = '/token') {
  const response = await fetch(path, { method: 'POST', signal });
  return response.ok && response.status !== 204 ? response.json() : response;
}
// endregion

const MEANINGS = {
  empty: 'There is no token set. Sign in to get one.',
  fresh: 'Valid. It is refreshed when it is due.',
  due: 'Valid, and due for a refresh.',
  stale: 'Expired. No token is given out until a refresh brings a new one.',
  ended: 'The operator no longer accepts the refresh token.',
  optedOut: 'This reader has opted out: there is no token, and only the opt-out is stored.',
};
const WITHOUT_CONSENT = 'Without consent, the session reads, stores and sends nothing.';

export const phaseText = (phase) => (phase === 'optedOut' ? 'opted out' : phase);

/** Keep the elements `phase`, `token` and `meaning`, if the page has them, in step with the session. */
export function showToken(session) {
  const show = () => {
    const { phase, waitingFor } = session.state;
    const meaning = waitingFor === 'consent' ? WITHOUT_CONSENT : MEANINGS[phase];
    const texts = { phase: phaseText(phase), token: tail(session.advertisingToken), meaning };
    for (const [id, text] of Object.entries(texts)) if ($(id) && $(id).textContent !== text) $(id).textContent = text;
    if ($('phase')) $('phase').dataset.phase = phase;
  };
  session.subscribe(show);
  show();
  return show;
}

/** Return an email address that nobody has used, to which no opt-out of an earlier visit applies. */
export const newReader = () => `reader-${Math.random().toString(36).slice(2, 7)}@example.com`;

/** Run the panel of the reader: sign in, sign out, opt out. Focus moves to the control that replaces the one last used. */
export function showReader(session) {
  $('email').value = newReader();
  let shown;
  const show = async () => {
    let email;
    try {
      email = (await get('/me'))?.email;
    } catch ({ message }) {
      // Who is signed in is unknown: the panel stays as it is.
      $('problem').textContent ||= message;
      return;
    }
    const hadFocus = $('sign-in').contains(document.activeElement) || $('signed-in').contains(document.activeElement);
    $('who').textContent = email ?? '';
    $('signed-in').hidden = !email;
    $('sign-in').hidden = Boolean(email);
    if (hadFocus && shown !== email) $(email ? 'sign-out' : 'email').focus();
    shown = email;
  };
  const handle = (work) => async (event) => {
    event.preventDefault();
    $('problem').textContent = '';
    try {
      await work();
    } catch (error) {
      // The page already shows that this reader has opted out.
      if (error.code !== 'opted_out') $('problem').textContent = error.message;
    }
    await show();
  };
  // region sign-in
  $('sign-in').onsubmit = handle(async () => {
    const answer = await post('/sign-in', { email: $('email').value });
    await session.setTokens(answer);
  });
  $('sign-out').onclick = handle(async () => {
    await post('/sign-out');
    await session.clear();
    $('email').value = newReader();
  });
  $('opt-out').onclick = handle(async () => {
    await post('/opt-out');
    await session.refresh();
  });
  // endregion
  for (const example of document.querySelectorAll('[data-email]')) {
    example.onclick = () => {
      $('email').value = example.dataset.email;
      $('email').focus();
    };
  }
  let { phase } = session.state;
  session.subscribe(() => {
    if (phase !== session.state.phase) show();
    phase = session.state.phase;
  });
  show();
}
