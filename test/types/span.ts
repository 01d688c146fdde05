/** A span of the testing kit has a unit that it knows. Only compiled. */

import type { Span } from '../../src/testing/index.ts';

export const spans: Span[] = ['20 min', '1.5 h', 500];
// @ts-expect-error no unit
export const unknownUnit: Span = '20 parsecs';
