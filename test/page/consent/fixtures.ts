/** What the tests of consent gates share: a clean page, the answers of a gate, and the rules for the EU as a table. */

import { afterEach, beforeEach } from 'vitest';
import type { CmpOptions, ConsentGate } from '../../../src/page/consent.ts';
import { restoreGlobals } from '../../session/fixtures.ts';
import { useFakeClock } from '../../support/clock.ts';
import { removeCmps, type TcChoices } from '../../support/cmp.ts';
import { createOperatorFixture } from '../../support/fixtures.ts';

/** Run each test with the fake clock, and without a CMP of the test before. */
export const isolateTests = () => {
  beforeEach(() => void useFakeClock());
  afterEach(async () => {
    await restoreGlobals();
    removeCmps();
  });
};

export const { settle } = createOperatorFixture();

export const ask = (gate: ConsentGate) => {
  const answers: boolean[] = [];
  const answer = gate((granted) => answers.push(granted));
  if (typeof answer === 'boolean') answers.push(answer);
  else answer.then((granted) => answers.push(granted));
  return answers;
};

/** All purposes that an EUID operator asks for, each on the legal basis that vendor 21 declares. */
const ALL: TcChoices = {
  purposes: [1, 3, 4],
  purposeInterests: [2, 7, 10],
  vendors: [21],
  vendorInterests: [21],
};
const PURPOSES = [1, 2, 3, 4, 7, 10];
/** Consent to a purpose that the vendor may also base on legitimate interest. */
const FLEXIBLE: TcChoices = { purposes: [2], vendors: [7] };
const OLD = Date.UTC(2025, 5, 1);

/** Rules that hold for a TC string and for section 2 of a GPP string alike, if GDPR applies. */
export const euRules: [what: string, options: CmpOptions, choices: TcChoices, granted: boolean][] = [
  ['purpose 1, no vendor required', {}, { vendors: [] }, true],
  ['no consent at all', {}, { purposes: [], vendors: [] }, false],
  ['another purpose than 1', {}, { purposes: [2] }, false],
  ['purpose 1 and the vendor', { vendorId: 7 }, { vendors: [7] }, true],
  ['purpose 1 and another vendor', { vendorId: 7 }, { vendors: [21] }, false],
  ['UID2 with every consent', { name: 'uid2' }, ALL, false],
  ['EUID with purpose 1 and vendor 21', { name: 'euid' }, {}, true],
  ['EUID with another vendor', { name: 'euid' }, { vendors: [7] }, false],
  ['EUID without purpose 1', { name: 'euid' }, { ...ALL, purposes: [3, 4] }, false],
  ['fewer purposes than required', { purposes: [1, 4] }, { purposes: [1, 3] }, false],
  ['all purposes that are required', { purposes: [1, 4] }, { purposes: [1, 4] }, true],
  ['all purposes by consent', { purposes: PURPOSES }, { purposes: PURPOSES }, true],
  ['2, 7 and 10 by legitimate interest', { name: 'euid', purposes: PURPOSES }, ALL, true],
  ['2 by neither', { name: 'euid', purposes: PURPOSES }, { ...ALL, purposeInterests: [7, 10] }, false],
  ['2 by interest, the vendor not', { name: 'euid', purposes: [1, 2] }, { ...ALL, vendorInterests: [] }, false],
  ['2 by interest, no vendor required', { purposes: [1, 2] }, { ...ALL, vendorInterests: [] }, true],
  ['the vendor by interest alone', { name: 'euid' }, { ...ALL, vendors: [] }, false],
  ['3 by legitimate interest', { purposes: [1, 3] }, { purposeInterests: [3] }, false],
  ['2 forbidden by the publisher', { name: 'euid', purposes: [2] }, { ...ALL, restrictions: [[2, 0, 21]] }, false],
  ['2 by interest, consent required', { name: 'euid', purposes: [2] }, { ...ALL, restrictions: [[2, 1, 21]] }, false],
  [
    '2 by consent, interest required',
    { vendorId: 7, purposes: [2] },
    { ...FLEXIBLE, restrictions: [[2, 2, 7]] },
    false,
  ],
  ['2 by consent, as the vendor declares', { vendorId: 7, purposes: [2] }, FLEXIBLE, true],
  ['2 forbidden to another vendor', { name: 'euid', purposes: [2] }, { ...ALL, restrictions: [[2, 0, 7]] }, true],
  ['TCF 2.3, no disclosed vendors named', {}, { disclosed: undefined }, false],
  ['the first day of TCF 2.3', {}, { disclosed: undefined, createdAt: Date.UTC(2026, 1, 28) }, false],
  ['the day before', {}, { disclosed: undefined, createdAt: Date.UTC(2026, 1, 27) }, true],
  ['TCF 2.2, no disclosed vendors named', { name: 'euid' }, { disclosed: undefined, createdAt: OLD }, true],
  ['the vendor not disclosed', { name: 'euid' }, { disclosed: [7] }, false],
  ['the vendor not disclosed, TCF 2.2', { name: 'euid' }, { disclosed: [7], createdAt: OLD }, false],
];
