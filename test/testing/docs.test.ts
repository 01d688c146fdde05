/** The examples of docs/pages/testing.md run as they are written. Those that need other runners are in `runners.test.ts`. */

import * as vitest from 'vitest';
import { describe, expect, test } from 'vitest';
import * as session from '../../src/session/index.ts';
import * as testing from '../../src/testing/index.ts';
import { blocksWith, runBlock } from './doc-blocks.ts';

const modules = { 'tessera-id': session, 'tessera-id/testing': testing, vitest };
const blocks = await blocksWith('docs/pages/testing.md', 'vitest');

test('docs/pages/testing.md has examples for Vitest', () => {
  expect(blocks.length).toBeGreaterThan(0);
});

for (const [index, block] of blocks.entries()) {
  describe(`example ${index + 1} of docs/pages/testing.md`, () => runBlock(block, modules));
}
