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
const CMP = 'name, purposes, vendorId, waitMs, signal';

const FAULTS: [what: string, call: (options: never) => unknown, options: unknown, message: string][] = [
  [
    'connectPrebid',
    (options) => connectPrebid(session, options),
    { nmae: 'euid' },
    'connectPrebid: options.nmae: expected one of pbjs, name, got an unknown name',
  ],
  [
    'connectPrebid, name',
    (options) => connectPrebid(session, options),
    { name: 'EUID' },
    'connectPrebid: options.name: expected uid2 or euid, got "EUID"',
  ],
  [
    'connectPrebid, an array',
    (options) => connectPrebid(session, options),
    [],
    'connectPrebid: options: expected object, got array',
  ],
  [
    'connectSecureSignals',
    (options) => connectSecureSignals(session, options),
    { networkcode: '123' },
    'connectSecureSignals: options.networkcode: expected one of name, networkCode, register, got an unknown name',
  ],
  [
    'connectSecureSignals, name',
    (options) => connectSecureSignals(session, options),
    { name: null },
    'connectSecureSignals: options.name: expected uid2 or euid, got null',
  ],
  [
    'connectWebview',
    (options) => connectWebview(session, options),
    { chanel: 'app' },
    'connectWebview: options.chanel: expected one of owner, channel, timeoutMs, got an unknown name',
  ],
  [
    'connectWebview, owner',
    (options) => connectWebview(session, options),
    { owner: 'native' },
    'connectWebview: options.owner: expected page or host, got "native"',
  ],
  ['tcfConsent', tcfConsent, { wait: 1 }, `tcfConsent: options.wait: expected one of ${CMP}, got an unknown name`],
  ['tcfConsent, name', tcfConsent, { name: 'tcf' }, 'tcfConsent: options.name: expected uid2 or euid, got "tcf"'],
  [
    'gppConsent',
    gppConsent,
    { purpose: [1] },
    `gppConsent: options.purpose: expected one of ${CMP}, got an unknown name`,
  ],
  [
    'connectPrebid, pbjs',
    (options) => connectPrebid(session, options),
    { pbjs: 'pbjs' },
    'connectPrebid: options.pbjs: expected object, got string',
  ],
  [
    'connectSecureSignals, a network code that is a number',
    (options) => connectSecureSignals(session, options),
    { networkCode: 12345 },
    'connectSecureSignals: options.networkCode: expected string, got number',
  ],
  [
    'connectSecureSignals, an empty network code',
    (options) => connectSecureSignals(session, options),
    { networkCode: '' },
    'connectSecureSignals: options.networkCode: expected string, got empty string',
  ],
  [
    'connectSecureSignals, register as a string',
    (options) => connectSecureSignals(session, options),
    { register: 'false' },
    'connectSecureSignals: options.register: expected boolean, got string',
  ],
  [
    'connectWebview, channel',
    (options) => connectWebview(session, options),
    { channel: null },
    'connectWebview: options.channel: expected string, got null',
  ],
  [
    'connectWebview, timeoutMs as a string',
    (options) => connectWebview(session, options),
    { timeoutMs: '3000' },
    'connectWebview: options.timeoutMs: expected number, got string',
  ],
  [
    'connectWebview, timeoutMs that is no number',
    (options) => connectWebview(session, options),
    { timeoutMs: Number.NaN },
    'connectWebview: options.timeoutMs: expected a number of 0 or more, got NaN',
  ],
  ['tcfConsent, purposes', tcfConsent, { purposes: 1 }, 'tcfConsent: options.purposes: expected array, got number'],
  ['tcfConsent, vendorId', tcfConsent, { vendorId: '21' }, 'tcfConsent: options.vendorId: expected number, got string'],
  ['gppConsent, signal', gppConsent, { signal: true }, 'gppConsent: options.signal: expected object, got boolean'],
  ['gppConsent, a string', gppConsent, 'euid', 'gppConsent: options: expected object, got string'],
];

test.each(FAULTS)('%s', (_, call, options, message) => {
  expect(() => call(options as never)).toThrow(new TypeError(message));
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
