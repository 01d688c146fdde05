/** Runs the endpoint tests that write tables with the state in a folder. */

import { describe } from 'vitest';
import { runOperatorsOn } from './fixtures.ts';

runOperatorsOn('pglite');

describe('opt-outs', async () => void (await import('../operator/opt-outs.test.ts')));
describe('replays', async () => void (await import('../operator/replays.test.ts')));
