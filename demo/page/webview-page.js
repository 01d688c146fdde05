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

ready.then((isConnected) => {
  $('host').textContent = isConnected ? 'The app has responded.' : 'No app has responded: this page runs on its own.';
});
$('sign-out').onclick = () => session.clear();
