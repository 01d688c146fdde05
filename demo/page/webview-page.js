// A page in an app: a session that is connected to the app.

const $ = (id) => document.getElementById(id);
const owner = new URLSearchParams(location.search).get('owner');

const session = window.tessera.createSession({
  baseUrl: document.querySelector('meta[name=operator]').content,
  name: `demo-webview-${owner}`,
  refresh: owner === 'host' ? 'off' : 'auto',
});
const ready = import('/webview.js').then(
  ({ connectWebview }) => connectWebview(session, { owner }).ready,
  () => false, // a content blocker has blocked the adapter: the session works without it
);

const show = () => {
  const token = session.advertisingToken;
  $('phase').textContent = session.state.phase;
  $('phase').dataset.phase = session.state.phase;
  $('token').textContent = token ? `${token.slice(0, 12)} ... ${token.slice(-8)}` : 'no token';
};
session.subscribe(show);
show();

const noteApp = () => {
  $('host').textContent = 'The app has responded.';
};
// An app may respond later: only it supplies sets here.
session.on('token', ({ cause }) => cause === 'set' && noteApp());
ready.then((isConnected) => {
  if (isConnected) noteApp();
  else $('host').textContent = 'No app has responded within 3 s: this page runs on its own until one does.';
});
$('sign-out').onclick = () => session.clear();
