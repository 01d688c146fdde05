import { operator, provide } from '/common.js';
import { measure } from '/runtime.js';

// region compare-tessera
const session = window.tessera.createSession({
  baseUrl: operator,
  name: 'compare',
  provide: (call) => provide(call, '/compare/token'),
});
measure('Tessera', "One session, which gets its sets from the publisher's server.", () => session.advertisingToken);
// endregion
