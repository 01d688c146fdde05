// Shared code of the demo pages: short names for the DOM, calls of the publisher's server, and the panel of the reader.

import { inspect } from '/inspector.js';

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

const element = (name, textContent) => Object.assign(document.createElement(name), { textContent });

/** Show pairs of a name and a figure in a `<dl class="figures">`. */
export const showFigures = (list, figures) =>
  list.replaceChildren(
    ...figures.map(([name, figure]) => {
      const item = document.createElement('div');
      item.append(element('dt', name), element('dd', figure));
      return item;
    }),
  );

/** Show rows of a name, a value and its text as bars in a `<div class="bars">`. */
export const showBars = (parent, rows) => {
  const max = Math.max(1, ...rows.map(([, value]) => value));
  parent.replaceChildren(
    ...rows.flatMap(([name, value, text]) => {
      const bar = Object.assign(document.createElement('progress'), { max, value });
      bar.setAttribute('aria-label', name);
      return [element('span', name), bar, element('span', text)];
    }),
  );
};

export const phaseText = (phase) => (phase === 'optedOut' ? 'opted out' : phase);

/** Keep the elements `phase`, `token` and `meaning`, if the page has them, in step with the session, in the words of the Inspector. */
export function showToken(session) {
  const { explain } = inspect(session);
  const show = () => {
    const { phase } = session.state;
    const texts = { phase: phaseText(phase), token: tail(session.advertisingToken), meaning: explain() };
    for (const [id, text] of Object.entries(texts)) if ($(id) && $(id).textContent !== text) $(id).textContent = text;
    if ($('phase')) $('phase').dataset.phase = phase;
  };
  session.subscribe(show);
  // Reading the state makes the session notice that time has passed.
  setInterval(() => document.hidden || show(), 1000);
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
