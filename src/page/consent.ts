/** `tessera-id/consent`: gates for the option `consent`. The publisher must judge whether what they report is legally sufficient. */

export type { CmpOptions } from './consent/cmp.ts';
export { allOf, type ConsentGate } from './consent/gate.ts';
export { gpcConsent } from './consent/gpc.ts';
export { gppConsent } from './consent/gpp.ts';
export { tcfConsent } from './consent/tcf.ts';
