import { operator, provide } from '/common.js';
import { measure } from '/runtime.js';

// region compare-tessera
const session = window.tessera.createSession({ baseUrl: operator, name: 'compare', provide });
measure('Tessera', 'One session, with the publisher as its source.', () => session.advertisingToken);
// endregion
