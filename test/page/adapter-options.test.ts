/** The development build refuses what a page passes to an adapter if that would otherwise have no effect, or fail later. */

import { createElement } from 'react';
import { renderToString } from 'react-dom/server';
import { expect, test, vi } from 'vitest';
import { gppConsent, tcfConsent } from '../../src/page/consent.ts';
import { inspect } from '../../src/page/inspector.ts';
import { TesseraProvider } from '../../src/page/react.ts';
import { connectSecureSignals } from '../../src/page/secure-signals.ts';
import { connectPrebid } from '../../src/page/user-id-module.ts';
import { connectWebview } from '../../src/page/webview.ts';

/** The options are checked before the session is used. */
const session = {} as never;
const CALLS = {
  connectPrebid: (options: never) => connectPrebid(session, options),
  connectSecureSignals: (options: never) => connectSecureSignals(session, options),
  connectWebview: (options: never) => connectWebview(session, options),
  tcfConsent: (options: never) => tcfConsent(options),
  gppConsent: (options: never) => gppConsent(options),
};
const CMP = 'name, purposes, vendorId, waitMs, signal';

test.each<[call: keyof typeof CALLS, options: unknown, message: string]>([
  ['connectPrebid', { nmae: 'euid' }, '.nmae: expected one of pbjs, name, mark, got an unknown name'],
  ['connectPrebid', { name: 'EUID' }, '.name: expected uid2 or euid, got "EUID"'],
  ['connectPrebid', { pbjs: 'pbjs' }, '.pbjs: expected object, got string'],
  ['connectPrebid', [], ': expected object, got array'],
  ['connectSecureSignals', { x: 1 }, '.x: expected one of name, networkCode, register, got an unknown name'],
  ['connectSecureSignals', { name: null }, '.name: expected uid2 or euid, got null'],
  ['connectSecureSignals', { networkCode: 12345 }, '.networkCode: expected string, got number'],
  ['connectSecureSignals', { networkCode: '' }, '.networkCode: expected string, got empty string'],
  ['connectSecureSignals', { register: 'false' }, '.register: expected boolean, got string'],
  [
    'connectWebview',
    { chanel: 'app' },
    '.chanel: expected one of owner, channel, timeoutMs, got an unknown name; did you mean channel?',
  ],
  ['connectWebview', { owner: 'native' }, '.owner: expected page or host, got "native"'],
  ['connectWebview', { channel: null }, '.channel: expected string, got null'],
  ['connectWebview', { timeoutMs: '3000' }, '.timeoutMs: expected number, got string'],
  ['connectWebview', { timeoutMs: Number.NaN }, '.timeoutMs: expected number of 0 or more, got NaN'],
  ['tcfConsent', { wait: 1 }, `.wait: expected one of ${CMP}, got an unknown name; did you mean waitMs?`],
  ['tcfConsent', { name: 'tcf' }, '.name: expected uid2 or euid, got "tcf"'],
  ['tcfConsent', { purposes: 1 }, '.purposes: expected array, got number'],
  ['tcfConsent', { vendorId: '21' }, '.vendorId: expected number, got string'],
  ['tcfConsent', { vendorId: 0 }, '.vendorId: expected a whole number from 1, got 0'],
  ['gppConsent', { vendorId: 1.5 }, '.vendorId: expected a whole number from 1, got 1.5'],
  ['gppConsent', { purposes: [] }, '.purposes: expected a purpose, got none'],
  ['gppConsent', { purpose: [1] }, `.purpose: expected one of ${CMP}, got an unknown name; did you mean purposes?`],
  ['gppConsent', { signal: true }, '.signal: expected object, got boolean'],
  ['gppConsent', 'euid', ': expected object, got string'],
])('%s with %j is refused', (call, options, message) => {
  expect(() => CALLS[call](options as never)).toThrow(new TypeError(`${call}: options${message}`));
});

test('an option that is undefined counts as left out', () => {
  expect(tcfConsent({ name: undefined, waitMs: undefined })).toBeTypeOf('function');
});

test.each<[call: string, connect: (session: never) => unknown]>([
  ['connectPrebid', (given) => connectPrebid(given)],
  ['connectSecureSignals', (given) => connectSecureSignals(given)],
  ['connectWebview', (given) => connectWebview(given)],
  ['inspect', (given) => inspect(given)],
  ['tessera-inspector', (given) => Object.assign(document.createElement('tessera-inspector'), { session: given })],
  ['TesseraProvider', (given) => renderToString(createElement(TesseraProvider, { session: given }))],
])('%s rejects a value that is not a session, such as the global of the script tag', (call, connect) => {
  const expected = `${call}: session: expected what createSession returns`;
  expect(() => connect({ createSession: () => {} } as never)).toThrow(new TypeError(`${expected}, got object`));
  // A property `session` that is undefined says that there is none yet.
  if (/^tessera/i.test(call)) expect(() => connect(undefined as never)).not.toThrow();
  else expect(() => connect(undefined as never)).toThrow(new TypeError(`${expected}, got undefined`));
});

test('a wait of any length is accepted', () => {
  expect(tcfConsent({ waitMs: Number.POSITIVE_INFINITY })).toBeTypeOf('function');
  expect(gppConsent({ waitMs: 0 })).toBeTypeOf('function');
});

test('a second connection of one module to the same Prebid causes a warning, one after a disconnection does not', () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
  const quiet = { subscribe: () => () => {} } as never;
  const pbjs = {};
  const disconnect = connectPrebid(quiet, { pbjs });
  connectPrebid(quiet, { pbjs, name: 'euid' });
  connectPrebid(quiet, { pbjs: {} });
  disconnect();
  disconnect();
  connectPrebid(quiet, { pbjs });
  expect(warn).not.toHaveBeenCalled();
  connectPrebid(quiet, { pbjs });
  expect(warn).toHaveBeenCalledExactlyOnceWith(
    '[tessera] connectPrebid: uid2 is connected already, and each connection replaces the token of the other. Call the function that the first connectPrebid returned, then connect again',
  );
  warn.mockRestore();
});
