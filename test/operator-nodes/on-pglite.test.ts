/** Runs the tests of the endpoints that store something over HTTP, with the state in a folder. `on-postgres` runs those of all. */

import { describe } from 'vitest';
import { runOperatorsOn } from './fixtures.ts';

runOperatorsOn('pglite');

describe('map', async () => void (await import('../operator/map.test.ts')));
describe('opt-outs', async () => void (await import('../operator/opt-outs.test.ts')));
describe('tokens', async () => void (await import('../operator/tokens.test.ts')));
describe('rate limit', async () => void (await import('../operator/rate-limit.test.ts')));
describe('replays', async () => void (await import('../operator/replays.test.ts')));
