// A native app, played by a page: what a WKWebView host does, in a few lines. See docs/webview.md for Swift and Kotlin.

const $ = (id) => document.getElementById(id);
const short = (token) => (token ? `... ${token.slice(-8)}` : 'none');

/** What the app knows: the set that it holds, and how many logins and logouts there were. */
let set;
let gen = 0;

const isOwner = () => $('owner').value === 'host';

const log = (from, message) => {
  const { kind, type, gen, error, body } = message;
  const token = body?.advertisingToken ?? (body?.body ?? body)?.advertising_token;
  const row = $('messages').insertRow(0);
  row.insertCell().textContent = from;
  row.insertCell().textContent = `${kind} ${type}, generation ${gen}${body?.phase ? `, ${body.phase}` : ''}${token ? `, token ${short(token)}` : ''}${error ? `, refused: ${error}` : ''}`;
};

const show = (token) => {
  $('app-token').textContent = short(token);
};

/** To the page: what `evaluateJavaScript` does with `postMessage`. It comes from no other window. */
const say = (message) => {
  const page = $('webview').contentWindow;
  const whole = { v: 1, ns: 'tessera', kind: 'evt', gen, ...message };
  log('app', whole);
  page.dispatchEvent(new page.MessageEvent('message', { data: JSON.stringify(whole) }));
};

/** Requests that are being answered: an unanswered one is repeated, with the same id. */
const answering = new Set();

/** What the app hands to a page that asks: a fresh set, where somebody is signed in. */
const renewed = async () => {
  const answer = set && (await post('/token'));
  if (answer?.status === 200) set = await answer.json();
  return set;
};

/** From the page. */
const hear = async (text) => {
  const message = JSON.parse(text);
  if (message.ns !== 'tessera' || message.v !== 1) return;
  log('page', message);
  const { kind, type, id, body } = message;
  if (type === 'changed') {
    // More logins and logouts than the app knows of: the page has acted, and is right.
    const acted = message.gen > gen;
    gen = Math.max(gen, message.gen);
    if (isOwner() && acted && !body.advertisingToken) set = undefined;
    if (!isOwner() || acted) show(body.advertisingToken);
  }
  if (kind !== 'req' || answering.has(id)) return;
  answering.add(id);
  const answer = { kind: 'res', type, id, gen };
  if (type === 'get') answer.body = await renewed();
  if (type === 'get') show(set?.body?.advertising_token);
  answering.delete(id);
  say(answer);
};

const tellSet = () => {
  show(set?.body?.advertising_token);
  say(set ? { type: 'set', body: set } : { type: 'clear' });
};

const post = (path, body) =>
  fetch(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: body && JSON.stringify(body) });

$('sign-in').onclick = async () => {
  const answer = await (await post('/sign-in', { email: 'reader@example.com' })).json();
  gen++;
  set = answer;
  tellSet();
};
$('sign-out').onclick = async () => {
  await post('/sign-out');
  gen++;
  set = undefined;
  tellSet();
};
$('refresh').onclick = async () => {
  if (isOwner() && (await renewed())) tellSet();
};

/** Open the page in the webview, with the bridge early, late or not at all. */
const open = () => {
  const webview = $('webview');
  const delay = $('bridge').value;
  $('messages').textContent = '';
  $('refresh').disabled = !isOwner();
  webview.src = `/webview-page?owner=${$('owner').value}`;
  const bridge = () => {
    webview.contentWindow.webkit = { messageHandlers: { tesseraHost: { postMessage: hear } } };
  };
  webview.onload = () => delay !== 'never' && setTimeout(bridge, Number(delay));
};
$('owner').onchange = open;
$('bridge').onchange = open;
open();
