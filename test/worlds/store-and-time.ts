/** Worlds of kind 1, what one page meets, and of kind 2, time that passes while the page cannot run. */

import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { processesBelow } from '../support/processes.ts';
import { fewRequests, type Step, unconfirmed } from './story.ts';
import { busy, inTabs, type World } from './world.ts';

/** The database fails on this page from now on, as in WebKit after its network process has ended. */
const LOSE_DATABASE = `const lost = () => { throw new DOMException('Connection lost', 'UnknownError'); };
  IDBDatabase.prototype.transaction = lost; IDBFactory.prototype.open = lost;`;

const FILL_DISK = `IDBObjectStore.prototype.put = () => { throw new DOMException('full', 'QuotaExceededError'); };`;

const SILENCE = 'IDBDatabase.prototype.transaction = () => ({ objectStore: () => ({ get: () => ({}) }) });';

/** `database`: the connection that was used last. */
const KEEP_CONNECTION = `const { transaction } = IDBDatabase.prototype;
  IDBDatabase.prototype.transaction = function (...args) { window.database = this; return transaction.apply(this, args); };`;

const everyStep = (step: Step) =>
  Object.fromEntries(['due', 'sign-in', 'outage', 'leave', 'logout', 'opt-out'].map((name) => [name, step]));

const nextPageIsSlow: Step = async ({ site }) => {
  site.isSlow = true;
};

const stored = ['storage_failed'];

/** Kind 1: a symptom on this page is not the state of the world. What was not confirmed is not promised. */
export const symptoms: World[] = [
  {
    name: 'IndexedDB fails on a page from the sign-in on, and not on the next page',
    before: { 'sign-in': inTabs(LOSE_DATABASE, 1) },
    instead: { 'sign-in': unconfirmed('signIn()', 'ben') },
    errors: stored,
  },
  {
    name: 'IndexedDB fails on a page from the logout on, and not on the next page',
    in: ['npm test'],
    before: { logout: inTabs(LOSE_DATABASE, 1) },
    instead: { logout: unconfirmed('clear()', 'nobody') },
    errors: stored,
  },
  {
    name: 'IndexedDB never answers from the logout on, on this page',
    in: ['tag'],
    before: { logout: inTabs(SILENCE, 1) },
    instead: { logout: unconfirmed('clear()', 'nobody') },
  },
  {
    name: 'the disk is full from the logout on: nothing can be written, but it can be erased',
    before: { logout: inTabs(FILL_DISK, 1) },
    errors: stored,
  },
  { name: 'the disk is full from the start', early: FILL_DISK, promises: 'memory only', errors: stored },
  {
    name: 'IndexedDB may not be touched',
    in: ['tag'],
    early: `Object.defineProperty(window, 'indexedDB', { get() { throw new DOMException('no', 'SecurityError'); } });`,
    promises: 'memory only',
    errors: stored,
    rejects: 'storage_failed',
  },
  {
    name: 'there is no IndexedDB',
    early: 'delete window.indexedDB; delete Window.prototype.indexedDB;',
    promises: 'memory only',
  },
  {
    name: 'indexedDB.open never answers',
    early: 'IDBFactory.prototype.open = () => ({});',
    promises: 'memory only',
    isSilent: true,
    rejects: 'storage_failed',
  },
  {
    name: 'the browser drops the connection between two steps, as Safari does',
    in: ['webkit'],
    early: KEEP_CONNECTION,
    before: everyStep(inTabs('database.close();')),
  },
  {
    name: 'another script opens the database first, without the object store',
    early: `indexedDB.open(seen.database).onsuccess = ({ target }) => target.result.close();`,
  },
  {
    name: 'another script upgrades the database',
    in: ['tag'],
    before: { due: inTabs(`indexedDB.open(seen.database, 2).onsuccess = ({ target }) => target.result.close();`, 1) },
  },
  {
    name: 'another script deletes the database before the user changes',
    in: ['firefox'],
    before: {
      'sign-in': ({ tabs: [one] }) =>
        one.evaluate(
          `new Promise((resolve) => (indexedDB.deleteDatabase(seen.database).onsuccess = () => resolve(1)))`,
        ),
    },
  },
  {
    name: 'a navigation ends the requests of a page long before pagehide, as in Firefox and Safari',
    in: ['tag'],
    early: `const { fetch } = window;
      const left = new Promise((_, reject) => navigation.addEventListener('navigate', () => reject(new TypeError())));
      left.catch(() => {});
      window.fetch = (what, how) => Promise.race([fetch(what, how), left]);`,
    before: { leave: nextPageIsSlow },
    engines: ['shell'],
  },
  {
    name: 'a navigation whose page comes after 700 ms: Firefox and WebKit end requests before that',
    in: ['firefox', 'webkit'],
    before: { leave: nextPageIsSlow },
    engines: ['chromium', 'firefox', 'webkit'],
  },
  {
    name: 'messages between tabs are lost',
    in: ['tag'],
    early: 'BroadcastChannel.prototype.postMessage = () => {};',
    promises: 'a tab learns of others when it wakes up',
  },
  {
    name: 'there is no BroadcastChannel',
    early: 'delete window.BroadcastChannel;',
    promises: 'a tab learns of others when it wakes up',
  },
  {
    name: 'a request for a Web Lock is never answered',
    in: ['tag'],
    early: 'LockManager.prototype.request = () => new Promise(() => {});',
  },
];

/** In the task in which the page has created its session and called `getToken`. */
const busyAfterTag = (ms: number): Omit<World, 'name'> => ({
  early: `tessera.push(() => ${busy(ms)});`,
  builds: ['tag'],
});

/** Once `busyMs` is set, the page is busy for so long as soon as its next write has begun. */
const BUSY_IN_WRITE = `const { transaction } = IDBDatabase.prototype;
  IDBDatabase.prototype.transaction = function (stores, mode) {
    const ms = mode === 'readwrite' && window.busyMs;
    if (ms) { window.busyMs = 0; setTimeout(() => ${busy('ms')}); }
    return transaction.call(this, stores, mode);
  };`;

/** The clock of the second tab is ahead of the true one. */
const clockAhead = (ms: number): Omit<World, 'name'> => ({
  early: `const ahead = +sessionStorage.ahead || 0; const { now } = Date; Date.now = () => now() + ahead;`,
  before: {
    'other tab': async ({ site, tabs: [, two] }) => {
      await two.goto(`${site.origin}/recorder.js`);
      await two.evaluate(`void (sessionStorage.ahead = ${ms})`);
    },
  },
  instead: { 'other tab': fewRequests },
});

/** Stop the whole browser four times while a page writes, each time for longer than a limit, as a computer that sleeps does. */
const stopInWrites: Step = async ({ pid, site, tabs: [one] }) => {
  const answer = await site.issue('ann');
  await one.evaluate(`void (window.writing = setInterval(() => seen.session.setTokens(${answer}), 5))`);
  for (let nth = 0; nth < 4; nth++) {
    const browser = await processesBelow(pid!);
    for (const { pid } of browser) process.kill(pid, 'SIGSTOP');
    await sleep(2_000);
    for (const { pid } of browser) process.kill(pid, 'SIGCONT');
    await one.evaluate('new Promise((resolve) => setTimeout(resolve, 200))');
  }
  await one.evaluate('void clearInterval(writing)');
  expect(await one.evaluate('seen.session.state.persistence')).toBe('indexeddb');
};

/** Kind 2: a limit judges only what had a chance to happen. */
export const lostTime: World[] = [
  { name: 'a page that is busy for 800 ms before the tag', early: busy(800) },
  { name: 'a page that is busy for 4 s before the tag', early: busy(4_000) },
  { name: 'a page that is busy for 300 ms after the tag', ...busyAfterTag(300) },
  {
    name: 'a page that is busy for 800 ms after the tag',
    in: ['npm test'],
    ...busyAfterTag(800),
  },
  {
    name: 'a page that is busy for 2.5 s after the tag',
    in: ['tag'],
    ...busyAfterTag(2_500),
  },
  {
    name: 'a page that is busy for 4 s after the tag',
    ...busyAfterTag(4_000),
  },
  ...(['sign-in', 'logout'] as const).map(
    (step): World => ({
      name: `a page that is busy for 2.5 s in a write: ${step}`,
      in: step === 'logout' ? ['tag'] : [],
      early: BUSY_IN_WRITE,
      before: { [step]: inTabs('window.busyMs = 2500;') },
    }),
  ),
  {
    name: 'timers are throttled to one a second',
    in: ['tag'],
    early: `const { setTimeout } = window;
      window.setTimeout = (work, ms, ...more) => setTimeout(work, Math.ceil((ms + 1) / 1000) * 1000, ...more);`,
  },
  {
    name: 'timers are objects, as in Node',
    early: `const { setTimeout, clearTimeout } = window;
      window.setTimeout = (...args) => ({ id: setTimeout(...args), unref() {} });
      window.clearTimeout = (timer) => clearTimeout(timer?.id);`,
  },
  {
    name: 'the whole browser is stopped in writes, as on a computer that sleeps',
    in: ['chromium', 'firefox', 'webkit'],
    before: { due: stopInWrites },
    engines: ['chromium', 'firefox', 'webkit'],
    isAlone: true,
  },
  { name: 'the clock of another tab is 90 minutes ahead', ...clockAhead(5_400_000) },
  { name: 'the clock of another tab is a day ahead', in: ['tag'], ...clockAhead(86_400_000) },
  { name: 'the clock of another tab is a day behind', in: ['tag'], ...clockAhead(-86_400_000) },
];
