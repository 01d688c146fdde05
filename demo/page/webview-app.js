// The app around a page: the library of hosts/android on a JVM of the demo's server, with an Android WebView; or, where it cannot run, a
// stand-in in JavaScript, with a WKWebView.

const $ = (id) => document.getElementById(id);
const short = (token) => (token ? `... ${token.slice(-8)}` : 'none');

/** The state of the app: its token set, and the number of logins and logouts so far. */
let set;
let gen = 0;

const isOwner = () => $('owner').value === 'host';
const isKotlin = () => $('app').value === 'kotlin';

const log = (from, message) => {
  const { kind, type, gen, error, body } = message;
  const token = body?.advertisingToken ?? (body?.body ?? body)?.advertising_token;
  const row = $('messages').insertRow(0);
  $('no-messages').hidden = true;
  row.insertCell().textContent = from;
  row.insertCell().textContent = `${kind} ${type}, gen ${gen}${body?.phase ? `, ${body.phase}` : ''}${token ? `, token ${short(token)}` : ''}${error ? `, refused: ${error}` : ''}`;
};

const show = (token) => {
  $('app-token').textContent = short(token);
};

/** Send a message to the page, as `evaluateJavaScript` does: the event has no source window. */
const send = (message) => {
  const page = $('webview').contentWindow;
  const complete = { v: 1, ns: 'tessera', kind: 'evt', gen, ...message };
  log('app', complete);
  page.dispatchEvent(new page.MessageEvent('message', { data: JSON.stringify(complete) }));
};

/** Ids of requests in progress. The page repeats an unanswered request with the same id. */
const answering = new Set();

/** Get a fresh set from the publisher's server if somebody is signed in. */
const renewSet = async () => {
  const answer = set && (await post('/token'));
  if (answer?.status === 200) set = await answer.json();
  return set;
};

/** Receive a message from the page. */
const receive = async (text) => {
  const message = JSON.parse(text);
  if (message.ns !== 'tessera' || message.v !== 1) return;
  log('page', message);
  const { kind, type, id, body } = message;
  if (type === 'changed') {
    // If the message contains more logins and logouts than the app knows of, the page has acted and the app follows.
    const acted = message.gen > gen;
    gen = Math.max(gen, message.gen);
    if (isOwner() && acted && !body.advertisingToken) set = undefined;
    if (!isOwner() || acted) show(body.advertisingToken);
  }
  if (kind !== 'req' || answering.has(id)) return;
  answering.add(id);
  const answer = { kind: 'res', type, id, gen };
  if (type === 'get') answer.body = await renewSet().catch(() => undefined);
  if (type === 'get') show(set?.body?.advertising_token);
  answering.delete(id);
  send(answer);
};

const sendSet = () => {
  show(set?.body?.advertising_token);
  send(set ? { type: 'set', body: set } : { type: 'clear' });
};

const post = async (path, body) => {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(path, { method: 'POST', headers, body: body && JSON.stringify(body) }).catch(() => {
    throw new Error("The app's server cannot be reached. Is the demo still running?");
  });
  if (!response.ok) throw new Error(`${path} answered ${response.status}`);
  return response;
};

/** Run the action of a button, and show any failure. */
const handle = (work) => async () => {
  $('problem').textContent = '';
  try {
    await work();
  } catch (error) {
    $('problem').textContent = error.message;
  }
};

$('sign-in').onclick = handle(async () => {
  // A new user each time, to whom no opt-out of an earlier visit applies.
  const email = `reader-${Math.random().toString(36).slice(2, 7)}@example.com`;
  const answer = await (await post('/sign-in', { email })).json();
  if (isKotlin()) return command('signedIn', { text: JSON.stringify(answer) });
  gen++;
  set = answer;
  sendSet();
});
$('sign-out').onclick = handle(async () => {
  await post('/sign-out');
  if (isKotlin()) return command('signedOut');
  gen++;
  set = undefined;
  sendSet();
});
const refresh = async () => {
  if (isOwner() && (await renewSet())) sendSet();
};
$('refresh').onclick = handle(refresh);

// The app refreshes the set itself, soon after it is due.
setInterval(() => {
  const { refresh_from: from, identity_expires: expires } = set?.body ?? {};
  if (!isKotlin() && isOwner() && from && Date.now() > from + (expires - from) / 10) handle(refresh)();
}, 1000);

// The Kotlin host

/** The path of the app on the server, once it runs there. */
let app;
/** The document in the webview, as the app knows it. */
let pageName;

/** Commands reach the app in the order in which they were given. */
let commands = Promise.resolve();
const command = (name, more) => {
  commands = commands.catch(() => {}).then(() => post(app, { do: name, ...more }));
  return commands;
};

/** Carry out what the app says: a message to a page, an event of its listener, or a line of its log. */
const hear = ({ page, text, event, value, log: line }) => {
  if (page && page === pageName) {
    const { contentWindow } = $('webview');
    log('app', JSON.parse(text));
    contentWindow.tesseraHost?.onmessage?.(new contentWindow.MessageEvent('message', { data: text }));
  }
  if (line) {
    const lines = [line, ...$('log').textContent.split('\n')];
    $('log').textContent = lines.slice(0, 100).join('\n');
  }
  if (event === 'token') show(value);
  // The app asks its server for the user who is signed in there.
  if (event === 'needsTokens')
    handle(async () => {
      const answer = await post('/token');
      // Null: nobody is signed in there.
      await command('renew', { text: answer.status === 200 ? await answer.text() : null });
    })();
};

/** The object that Android's WebView defines in a page. */
const androidObject = (name) => ({
  onmessage: null,
  postMessage: (text) => {
    log('page', JSON.parse(text));
    const more = { view: 'webview', page: name, text, origin: location.origin, isMainFrame: true };
    void handle(() => command('message', more))();
  },
});

/** Say which app there is, and why. */
const explain = (text) => {
  $('which').textContent = text;
};
const KOTLIN = 'The server has Java: the app is the library of hosts/android, compiled and run on a JVM.';
const CHOSEN = 'The app is a stand-in in JavaScript, as you chose; the library of hosts/android runs too.';

/** Open the page in the webview, with the bridge present at once, later, or never. */
const open = () => {
  const webview = $('webview');
  const delay = $('bridge').value;
  $('messages').textContent = '';
  $('log').textContent = '';
  $('log-panel').hidden = !isKotlin();
  $('refresh').hidden = isKotlin();
  $('refresh').disabled = !isOwner();
  if (app) explain(isKotlin() ? KOTLIN : CHOSEN);
  show(isKotlin() ? undefined : set?.body?.advertising_token);
  if (isKotlin()) {
    pageName = `webview/${Math.random()}`;
    // A new app, which knows of no user.
    void handle(() => command('store', { text: '{}' }))();
    void handle(() => command('start', { origin: location.origin, owner: isOwner() ? 'APP' : 'PAGE' }))();
    void handle(() => command('open', { text: 'webview' }))();
  }
  webview.src = `/webview-page?owner=${$('owner').value}`;
  const bridge = () => {
    if (isKotlin()) webview.contentWindow.tesseraHost = androidObject(pageName);
    else webview.contentWindow.webkit = { messageHandlers: { tesseraHost: { postMessage: receive } } };
  };
  webview.onload = () => delay !== 'never' && setTimeout(bridge, Number(delay));
};
for (const name of ['app', 'owner', 'bridge']) $(name).onchange = open;
open();

explain('The app is a stand-in in JavaScript, while the server compiles the library of hosts/android.');
const stream = new EventSource('/webview/app');
stream.onmessage = ({ data }) => {
  const said = JSON.parse(data);
  if (said.missing) {
    stream.close();
    explain(`The app is a stand-in in JavaScript, not the library of hosts/android: ${said.missing}.`);
  } else if (said.id) {
    app = `/webview/app/${said.id}`;
    $('app').querySelector('[value=kotlin]').disabled = false;
    // Whoever has already begun with the stand-in chooses.
    if (set) explain(CHOSEN);
    else {
      $('app').value = 'kotlin';
      open();
    }
  } else if (isKotlin()) hear(said);
};
stream.onerror = () => {
  stream.close();
  $('app').value = 'stand-in';
  $('app').querySelector('[value=kotlin]').disabled = true;
  if (app) {
    app = undefined;
    open();
  }
  explain('The app is a stand-in in JavaScript, not the library of hosts/android, which has ended.');
};
