// Secure Signals: what Google Publisher Tag collects from the session. A mock stands in for Google.

import { $, operator, provide, showReader, showToken, tail } from '/common.js';

// region connect
const session = window.tessera.createSession({ baseUrl: operator, provide });
import('/secure-signals.js').then(
  ({ connectSecureSignals }) => connectSecureSignals(session),
  () => {}, // a content blocker has blocked the adapter: the session works without it
);
// endregion

showReader(session);
showToken(session);

/** The mock: the queue of commands, the list of providers, and the cache. */
let cleared = 0;
let provider;
const collect = async () => {
  if (!provider) return;
  $('collected').textContent = 'waiting for a token';
  $('collected').textContent = tail(await provider.collectorFunction());
};
const google = (window.googletag ??= {});
const waitingProviders = Array.isArray(google.secureSignalProviders) ? google.secureSignalProviders : [];
google.secureSignalProviders = {
  push(given) {
    provider = given;
    $('provider').textContent = given.id ?? given.networkCode;
    collect();
  },
  clearAllCache() {
    cleared++;
    $('cleared').textContent = `${cleared} times`;
    $('collected').textContent = 'nothing: the cache was cleared';
    collect();
  },
};
for (const given of waitingProviders) google.secureSignalProviders.push(given);
const commands = google.cmd ?? [];
google.cmd = { push: (command) => command() };
for (const command of commands) command();
$('collect').onclick = collect;
