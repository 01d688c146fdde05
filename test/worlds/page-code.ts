/** Worlds of kind 3, builtins that belong to the page, and of kind 4, code and hardening of others around the session. */

import { inTabs, type World } from './world.ts';

/** Kind 3: what such pages change is not taken from the realm. */
export const builtins: World[] = [
  {
    name: 'Array.prototype.reduce of Prototype 1.6',
    in: ['tag'],
    early: 'Array.prototype.reduce = function () { return this.length > 1 ? this : this[0]; };',
  },
  {
    name: 'Array.prototype.toJSON and Date.prototype.toJSON of Prototype 1.6',
    early: `Array.prototype.toJSON = function () { return '[' + this.join() + ']'; };
      Date.prototype.toJSON = () => '"a date"';`,
  },
  {
    name: 'Function.prototype.bind that ignores arguments, and Array.from of MooTools',
    in: ['tag'],
    early: `Function.prototype.bind = function (on) { const self = this; return function () { return self.apply(on, arguments); }; };
      Array.from = (item) => (item == null ? [] : Array.isArray(item) ? item : [item]);`,
  },
  {
    name: 'a global named Document',
    in: ['tag'],
    early: 'window.Document = function Document() {};',
    builds: ['tag'],
  },
  {
    name: 'JSON that revives dates, and indents',
    early: `const { parse, stringify } = JSON;
      JSON.parse = (text) => parse(text, (_, value) => (/^\\d{4}-\\d\\d-/.test(value) ? new Date(value) : value));
      JSON.stringify = (value, replacer) => stringify(value, replacer, 2);`,
  },
  {
    name: 'Date.parse of datejs, and Date.now as a method of a subclass',
    early: `window.Date = class extends Date { static parse(text) { const ms = super.parse(text); return ms ? new Date(ms) : null; } };`,
  },
  {
    name: 'a Promise that calls back in tasks',
    in: ['tag'],
    early: `const Native = Promise;
      const later = (call) => call && ((value) => new Native((resolve) => setTimeout(resolve)).then(() => call(value)));
      window.Promise = class extends Native { then(done, failed) { return super.then(later(done), later(failed)); } };`,
  },
  {
    name: 'a Promise without finally, as of old polyfills',
    in: ['tag'],
    early: 'window.Promise = class extends Promise {}; Promise.prototype.finally = undefined;',
  },
  {
    name: 'fetch by XMLHttpRequest, as in polyfills: no streams, no signal',
    in: ['tag'],
    early: `window.fetch = (url, { method = 'GET', body = null } = {}) => new Promise((resolve, reject) => {
      const request = new XMLHttpRequest();
      request.open(method, url);
      request.onerror = () => reject(new TypeError('Network request failed'));
      request.onload = () => {
        const { status, responseText } = request;
        const headers = { get: (name) => request.getResponseHeader(name) };
        const text = () => Promise.resolve(responseText);
        resolve({ status, ok: status >= 200 && status < 300, headers, text, json: () => text().then(JSON.parse) });
      };
      request.send(body); });`,
  },
  { name: 'Math.random with a fixed seed, as in tools that compare screenshots', early: 'Math.random = () => 0.5;' },
  { name: 'performance.now of a polyfill', early: 'const { now } = Date; performance.now = () => now() - 1e12;' },
  {
    name: 'frozen builtins',
    in: ['npm test'],
    early: `for (const name of Object.getOwnPropertyNames(window)) {
      const builtin = /^[A-Z]/.test(name) && window[name];
      if (typeof builtin !== 'function') continue;
      Object.freeze(builtin);
      if (builtin.prototype) Object.freeze(builtin.prototype);
    }`,
  },
  {
    name: 'a proxy of document, as micro frontends give their pages (qiankun, Garfish)',
    in: ['npm test', 'drop-in'],
    // They run the text of a script inside functions whose parameters have the names of the globals.
    early: `const real = document;
      const bound = (value) => (typeof value === 'function' ? value.bind(real) : value);
      const proxy = new Proxy(real, { get: (target, name) => bound(target[name]), set: (target, name, value) => Reflect.set(target, name, value) });
      window.runWith = (text, tag) => {
        Object.defineProperty(real, 'currentScript', { configurable: true, get: () => tag });
        new Function('document', text)(proxy);
        delete real.currentScript;
      };`,
    tag: (tag) =>
      tag.replace(
        /<script src="([^"]+)"([^>]*)><\/script>/,
        `<script type="text" id="app"$2></script><script>{
          const request = new XMLHttpRequest();
          request.open('GET', '$1', false);
          request.send();
          runWith(request.responseText + '//# sourceURL=$1', document.getElementById('app'));
        }</script>`,
      ),
    builds: ['tag', 'drop-in'],
  },
  {
    name: 'enumerable members of the prototypes of builtins',
    in: ['tag'],
    early: `for (const builtin of [Object, Array, Function, String, Promise]) builtin.prototype.extra = () => 'extra';`,
  },
];

/** Names of members in options, records, answers and attempts. */
const MEMBERS = `need isNobody user kind lease retry ended generation status body tokens provide consent
  refresh store now timeoutMs logger debug attempt plan isExplicit otherLeaseId result dateMs reason at ms waitUntil soonestAt
  isLocked advertisingToken refreshToken responseKeyB64 refreshAt expiresAt endsAt advertising_token refresh_token v baseUrl offsetMs
  receivedAt acceptedUntil changedAt persisted headers signal credentials redirect cache forget isPage ok response retryAfterMs
  lastError callers hiddenAt isAway isClosed emitted cause firstMs maxMs name dataset open close`.split(/\s+/);

const polluted = (names: readonly string[], value: string, what = names[0]): World => ({
  name: `Object.prototype.${what} is ${value}`,
  early: `for (const name of ${JSON.stringify(names)}) if (!(name in Object.prototype)) Object.prototype[name] = ${value};`,
});

const wrapped = (name: string, code: string): World => ({
  name: `a wrapper of fetch that ${name}`,
  early: `const { fetch } = window; window.fetch = function (what, how) { ${code} };`,
});

/** Kind 4: what protects a page from others does not break it, and the reverse. */
export const others: World[] = [
  {
    ...wrapped(
      'calls methods of the options',
      `if (how?.hasOwnProperty('method')) window.n++; return fetch(what, how);`,
    ),
    in: ['tag'],
  },
  wrapped('logs the options', `(window.lines ??= []).push('fetch ' + what + ' ' + how); return fetch(what, how);`),
  wrapped('makes a Request of a copy', 'return fetch(new Request(what, { ...how }));'),
  wrapped(
    'reads the answer first',
    'return fetch(what, how).then((answer) => answer.clone().text().then(() => answer));',
  ),
  { ...polluted(['optedOut'], "'1'"), in: ['tag'], builds: ['tag', 'module'] },
  { ...polluted(['error'], "'1'"), builds: ['tag', 'module'] },
  { ...polluted(['session'], "'1'"), builds: ['tag'] },
  polluted(['refusals'], "'1'"),
  { ...polluted(MEMBERS, "'1'", '(any other name)'), in: ['tag', 'drop-in'] },
  polluted(MEMBERS, '{}', '(any other name)'),
  {
    name: 'a state library that freezes the session',
    in: ['tag'],
    late: 'tessera.push(({ session }) => Object.freeze(session));',
    builds: ['tag'],
  },
  {
    name: 'a state library that hides the session behind a proxy',
    in: ['tag'],
    late: `tessera.push(({ session }) => { seen.session = new Proxy(session, { get: (target, name) => target[name] }); });`,
    builds: ['tag'],
  },
  {
    name: 'listeners and calls of the page that throw',
    in: ['tag'],
    thrown: 'Uncaught Error: of a listener',
    late: `for (const name of ['token', 'expired', 'optout', 'needsTokens', 'error'])
      tessera.push(({ session }) => void session.on(name, () => { throw new Error('of a listener'); }));`,
    builds: ['tag'],
  },
  {
    name: 'an error monitor that wraps every listener and timer',
    in: ['tag'],
    early: `const wrap = (call) => typeof call !== 'function' ? call : (call.wrapped ??= function () { return call.apply(this, arguments); });
      const { addEventListener, removeEventListener } = EventTarget.prototype;
      EventTarget.prototype.addEventListener = function (type, call, how) { return addEventListener.call(this, type, wrap(call), how); };
      EventTarget.prototype.removeEventListener = function (type, call, how) { return removeEventListener.call(this, type, wrap(call), how); };
      const { setTimeout } = window;
      window.setTimeout = (call, ...more) => setTimeout(wrap(call), ...more);`,
    before: { due: inTabs('window.seen.read();') },
  },
];
