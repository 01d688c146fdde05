/** Whoever passes the documented default of an option gets what leaving it out gives: no constructor refuses it. */

import { onTestFinished, test } from 'vitest';
import { gppConsent, tcfConsent } from '../../src/page/consent.ts';
import { inspect } from '../../src/page/inspector.ts';
import { connectSecureSignals } from '../../src/page/secure-signals.ts';
import { installUid2, type Uid2 } from '../../src/page/uid2/index.ts';
import { connectPrebid } from '../../src/page/user-id-module.ts';
import { onVitals } from '../../src/page/vitals.ts';
import { connectWebview } from '../../src/page/webview.ts';
import { createTesseraHost } from '../../src/react-native/index.ts';
import { createSession, memoryStore, type SessionOptions } from '../../src/session/index.ts';
import { defaultsOf, IN_PAGES } from '../support/documented-defaults.ts';

const baseUrl = 'https://operator.example';

const start = (options: Partial<SessionOptions> = {}) => {
  const session = createSession({ baseUrl, store: memoryStore(), ...options });
  onTestFinished(() => session.close());
  return session;
};

const init = (options: object) => {
  installUid2('uid2');
  const uid2 = window.__uid2 as Uid2;
  onTestFinished(() => {
    uid2.abort();
    Reflect.deleteProperty(window, '__uid2');
  });
  uid2.init({ baseUrl, ...options });
};

const CONSTRUCTORS: Readonly<Record<keyof typeof IN_PAGES, (options: never) => unknown>> = {
  SessionOptions: start,
  InitOptions: init,
  CookieOptions: init,
  PrebidOptions: (options) => connectPrebid(start(), options),
  SecureSignalsOptions: (options) => connectSecureSignals(start(), options),
  CmpOptions: (options) => [tcfConsent(options), gppConsent(options)],
  WebviewOptions: (options) => connectWebview(start(), options).disconnect(),
  TesseraHostOptions: (options: object) =>
    createTesseraHost({
      baseUrl,
      origins: ['https://www.publisher.example'],
      storage: { read: async () => null, write: async () => {} },
      ...options,
    }).close(),
  VitalsOptions: (options) => onVitals(start(), () => {}, options),
  InspectorOptions: (options) => inspect(start(), options).stop(),
};

test.each(defaultsOf(IN_PAGES))('%s: the default of %s can be passed: %j', async (name, option, value) => {
  await CONSTRUCTORS[name]({ [option]: value } as never);
});
