import { expect, test } from 'vitest';
import { createTestService } from './fixtures.ts';

const service = createTestService();

test.each<[what: string, json: string]>([
  ['spaces', `{"email":"a@${' '.repeat(500_000)}x"}`],
  ['plus signs', `{"email":"${'+'.repeat(500_000)}@gmail.com"}`],
  ['at signs', `{"email":"${'@'.repeat(500_000)}"}`],
  ['digits', `{"phone":"+${'1'.repeat(500_000)}"}`],
  ['lists in lists', `{"email":${'['.repeat(250_000)}${']'.repeat(250_000)}}`],
  // Quadratic work would take minutes, longer than the limit of a test.
])('half a megabyte of %s is answered in linear time', async (_, json) => {
  expect([200, 400]).toContain((await service.call('/v2/token/generate', json)).http);
});
