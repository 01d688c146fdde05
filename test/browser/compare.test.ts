/** `npm run compare` measures what it says, in a real Chromium. A script of the same interface stands in for the UID2 JavaScript SDK. */

import { expect, onTestFinished, test, vi } from 'vitest';
import { clientsHere, record } from '../../bench/compare/main.ts';
import { root } from '../../build/dist.ts';

test('a return visit is measured for Tessera and for the script that TESSERA_INCUMBENT names', async () => {
  onTestFinished(() => void vi.unstubAllEnvs());
  vi.stubEnv('TESSERA_INCUMBENT', `${root}dist/tessera-uid2.js`);
  const recorded = await record(['visit'], clientsHere().slice(0, 2));
  expect(recorded.clients.map(({ label }) => label)).toEqual(['Tessera', 'UID2 JavaScript SDK']);
  expect(recorded.missing).toBeUndefined();
  for (const value of recorded.rows[0]!.values) expect(value).toBeGreaterThan(0);
}, 240_000);
