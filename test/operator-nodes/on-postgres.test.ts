/** Runs the endpoint tests that write tables with the state in PostgreSQL. */

import { describe } from 'vitest';
import { runOperatorsOn } from './fixtures.ts';

runOperatorsOn('postgres');

describe('opt-outs', async () => void (await import('../operator/opt-outs.test.ts')));
describe('replays', async () => void (await import('../operator/replays.test.ts')));
