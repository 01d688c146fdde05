/** The development build refuses an option of an adapter that would otherwise have no effect. */

import { expect, test } from 'vitest';
import { gppConsent, tcfConsent } from '../../src/page/consent.ts';
import { connectPrebid } from '../../src/page/prebid.ts';
import { connectSecureSignals } from '../../src/page/secure-signals.ts';
import { connectWebview } from '../../src/page/webview.ts';

// The options are checked before the session is used.
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
  ['gppConsent, a string', gppConsent, 'euid', 'gppConsent: options: expected object, got string'],
];

test.each(FAULTS)('%s', (_, call, options, message) => {
  expect(() => call(options as never)).toThrow(new TypeError(message));
});

test('an option that is undefined counts as left out', () => {
  expect(tcfConsent({ name: undefined, waitMs: undefined })).toBeTypeOf('function');
});
