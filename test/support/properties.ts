/** How often a property is tested. The mutation tests use few values, and the same values each time. */

import fc from 'fast-check';

const given = process.env['PROPERTY_RUNS'];
if (given) fc.configureGlobal({ seed: 5, numRuns: Number(given) });

/** The number of runs of one property: `PROPERTY_RUNS`, or `usual`. */
export const runsOf = (usual: number): number => Number(given ?? usual);
