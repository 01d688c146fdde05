// A page that simulates a native app with a WKWebView. The files for real apps are in hosts/.

const $ = (id) => document.getElementById(id);
const short = (token) => (token ? `... ${token.slice(-8)}` : 'none');

/** The state of the app: its token set, and the number of logins and logouts so far. */
let set;
let gen = 0;

const isOwner = () => $('owner').value === 'host';

const log = (from, message) => {
  const { kind, type, gen, error, body } = message;
  const token = body?.advertisingToken ?? (body?.body ?? body)?.advertising_token;
  const row = $('messages').insertRow(0);
  $('no-messages').hidden = true;
  row.insertCell().textContent = from;
  row.insertCell().textContent = `${kind} ${type}, generation ${gen}${body?.phase ? `, ${body.phase}` : ''}${token ? `, token ${short(token)}` : ''}${error ? `, refused: ${error}` : ''}`;
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
  gen++;
  set = answer;
  sendSet();
});
$('sign-out').onclick = handle(async () => {
  await post('/sign-out');
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
  if (isOwner() && from && Date.now() > from + (expires - from) / 10) handle(refresh)();
}, 1000);

/** Open the page in the webview, with the bridge present at once, later, or never. */
const open = () => {
  const webview = $('webview');
  const delay = $('bridge').value;
  $('messages').textContent = '';
  $('refresh').disabled = !isOwner();
  webview.src = `/webview-page?owner=${$('owner').value}`;
  const bridge = () => {
    webview.contentWindow.webkit = { messageHandlers: { tesseraHost: { postMessage: receive } } };
  };
  webview.onload = () => delay !== 'never' && setTimeout(bridge, Number(delay));
};
$('owner').onchange = open;
$('bridge').onchange = open;
open();
