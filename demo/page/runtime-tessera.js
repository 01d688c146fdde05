import { operator, provide } from '/common.js';
import { measure } from '/runtime.js';

// region compare-tessera
const session = window.tessera.createSession({
  baseUrl: operator,
  name: 'compare',
  provide: (call) => provide(call, '/compare/token'),
  // The network is real, so a request takes sixty times as long by the clock of this page.
  timeoutMs: 600_000,
});
measure('Tessera', "One session, which gets its sets from the publisher's server.", () => session.advertisingToken);
// endregion
// For the panel of the faults.
window.session = session;
