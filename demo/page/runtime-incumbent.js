import { operator } from '/common.js';
import { firstSet, measure, showFailure } from '/runtime.js';

// region compare-incumbent
const sdk = window.__uid2;
firstSet()
  .then((identity) => {
    sdk.init({ baseUrl: operator, identity });
    measure('UID2 JavaScript SDK', 'Set up as its documentation shows.', () => sdk.getAdvertisingToken());
  })
  .catch(showFailure);
// endregion
