/** The types of answers; `token-answer.ts` holds the calls that compile and those that do not. */

import { expectTypeOf, test } from 'vitest';
import type { WireAnswer } from '../../src/server/index.ts';
import type { ProvideOption, TokenAnswer, WireTokenSet } from '../../src/session/index.ts';

test('a generate answer, its body and an opt-out are answers; a response, a string and a promise are not', () => {
  expectTypeOf<WireAnswer>().toExtend<TokenAnswer>();
  expectTypeOf<WireTokenSet>().toExtend<TokenAnswer>();
  expectTypeOf<Response>().not.toExtend<TokenAnswer>();
  expectTypeOf<string>().not.toExtend<TokenAnswer>();
  expectTypeOf<Promise<TokenAnswer>>().not.toExtend<TokenAnswer>();
  expectTypeOf<() => Promise<Response>>().not.toExtend<ProvideOption>();
});
