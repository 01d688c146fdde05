/**
 * The entry `tessera-id/consent`: gates for the session's `consent` option. A gate reports what a consent management platform
 * (CMP) or the browser says. The publisher must judge whether that is legally sufficient.
 */

export type { CmpOptions } from './consent/cmp.ts';
export { allOf, type ConsentGate } from './consent/gate.ts';
export { gpcConsent } from './consent/gpc.ts';
export { gppConsent } from './consent/gpp.ts';
export { tcfConsent } from './consent/tcf.ts';
