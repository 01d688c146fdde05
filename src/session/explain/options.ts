/** Checks the names and types of a session's options. */

import {
  addressFault,
  choiceFault,
  nameFault,
  ownMembers,
  type TypeName,
  throwIf,
  typeFault,
} from '../../token/checks.ts';
import type { Store } from '../browser/store.ts';
import type { SessionOptions } from '../types.ts';
import { checkLabel } from './warnings.ts';

export const OPTIONS = {
  baseUrl: 'any',
  name: 'string',
  tokens: 'any',
  user: 'any',
  provide: 'function',
  consent: 'function',
  refresh: 'any',
  fetch: 'function',
  store: 'any',
  now: 'function',
  timeoutMs: 'positive',
  retry: 'object',
  logger: 'any',
  debug: 'any',
  allowInsecure: 'any',
} satisfies Record<keyof SessionOptions, TypeName | 'any'>;

const RETRY = { firstMs: 'positive', maxMs: 'positive' } satisfies Record<
  keyof NonNullable<SessionOptions['retry']>,
  TypeName
>;
const REFRESH = { auto: 1, off: 1 } satisfies Record<NonNullable<SessionOptions['refresh']>, 1>;
const STORE = ['read', 'update'] satisfies (keyof Store)[];
const LOGGER = { debug: 1 } satisfies Record<keyof NonNullable<SessionOptions['logger']>, 1>;

/** `any`: checked elsewhere. */
export function checkMembers(path: string, types: Readonly<Record<string, TypeName | 'any'>>, given: object): void {
  throwIf(nameFault(path, Object.keys(types), given));
  const own = ownMembers(given as unknown);
  for (const [name, type] of Object.entries(types)) {
    const value = own[name];
    if (type !== 'any' && value !== undefined) throwIf(typeFault(path + name, type, value));
  }
}

function checkMethods(name: string, value: object | undefined, methods: readonly string[]): void {
  if (value === undefined) return;
  for (const method of methods)
    throwIf(typeFault(`${name}.${method}`, 'function', (Object(value) as Record<string, unknown>)[method]));
}

/** @throws {TypeError} that names the option, what was expected and what was passed. */
export function checkOptions(given: SessionOptions): void {
  throwIf(typeFault('options', 'object', given));
  checkMembers('', OPTIONS, given);
  const { baseUrl, allowInsecure, retry = {}, store, logger, refresh = 'auto' } = given;
  throwIf(addressFault(baseUrl, allowInsecure));
  checkMembers('retry.', RETRY, retry);
  checkMethods('store', store, STORE);
  checkMethods('logger', logger, Object.keys(LOGGER));
  throwIf(choiceFault('refresh', Object.keys(REFRESH), refresh));
  checkLabel(given.user);
}
