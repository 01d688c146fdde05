/** Prebid.js as a publisher downloads it: the same file that the demo serves. */

export { prebidScript } from '../../demo/prebid.ts';
