/** Runs the endpoint tests of `test/operator` over HTTP, with the state in a database. */

import { describe } from 'vitest';
import { runOperatorsOn } from './fixtures.ts';

runOperatorsOn('postgres');

describe('generate', async () => void (await import('../operator/generate.test.ts')));
describe('refresh', async () => void (await import('../operator/refresh.test.ts')));
describe('validate', async () => void (await import('../operator/validate.test.ts')));
describe('map', async () => void (await import('../operator/map.test.ts')));
describe('opt-outs', async () => void (await import('../operator/opt-outs.test.ts')));
describe('tokens', async () => void (await import('../operator/tokens.test.ts')));
describe('envelope', async () => void (await import('../operator/envelope.test.ts')));
describe('http', async () => void (await import('../operator/http.test.ts')));
describe('rate limit', async () => void (await import('../operator/rate-limit.test.ts')));
describe('logs and metrics', async () => void (await import('../operator/logs-and-metrics.test.ts')));
describe('replays', async () => void (await import('../operator/replays.test.ts')));
