/**
 * `tessera-vitals.js`: reports each page view of the session that `window.tessera` has. `data-to` on its tag is a URL: each report is
 * sent there by `navigator.sendBeacon`, as JSON. Without it, the page calls `tesseraVitals.onVitals`.
 */

import { dataOf, ownGlobal } from '../clobbering.ts';
import { onVitals, type VitalsOptions } from '../vitals.ts';

declare global {
  interface Window {
    tesseraVitals?: { readonly onVitals: typeof onVitals };
  }
}

window.tesseraVitals = { onVitals };
const to = dataOf('to');
const withoutConsent = dataOf('without-consent') as VitalsOptions['withoutConsent'];
/** Before the runtime has loaded, the global is a queue of calls. */
if (to)
  (ownGlobal('tessera') ?? (window.tessera = [])).push(({ session }) => {
    if (session) onVitals(session, (report) => navigator.sendBeacon(to, JSON.stringify(report)), { withoutConsent });
  });
