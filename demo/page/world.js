// Runs before every other script of a page and makes its clock, network and storage follow the dashboard. Later scripts see a device
// whose clock is wrong, that is offline or whose disk is full, and need no code for the demo.

(() => {
  const { name, speed, startedAt, ...setting } = JSON.parse(document.querySelector('meta[name=demo]').content);
  const RealDate = Date;
  const realOpen = IDBFactory.prototype.open;
  const realPut = IDBObjectStore.prototype.put;
  const realFetch = window.fetch;
  const realTimers = { setTimeout: window.setTimeout, setInterval: window.setInterval };
  const now = () =>
    Math.floor(startedAt + (RealDate.now() - startedAt) * speed) + (setting.shiftMs ?? 0) + (setting.skewMs ?? 0);

  // region clock
  window.Date = class extends RealDate {
    constructor(...given) {
      if (given.length) super(...given);
      else super(now());
    }
    static now() {
      return now();
    }
  };
  // With a speed of 60, a timer of a minute fires after a second. Those below a second stay: the disk, for which they wait, is real.
  const scaled = (ms) => (ms < 1000 ? ms : ms / speed);
  for (const [method, real] of Object.entries(realTimers))
    if (speed !== 1) window[method] = (call, ms = 0, ...given) => real.call(window, call, scaled(ms), ...given);
  // endregion

  // region network
  // A session sends no Referer. The log of the demo's operator tells the pages apart by it, and everything is on loopback.
  window.fetch = (input, init) => realFetch.call(window, input, { ...init, referrerPolicy: 'unsafe-url' });
  Object.defineProperty(Navigator.prototype, 'onLine', { get: () => setting.fault !== 'offline', configurable: true });
  // endregion

  // region storage
  IDBFactory.prototype.open = function (...given) {
    if (setting.storage === 'refused') throw new DOMException('The user agent refuses storage.', 'SecurityError');
    return realOpen.apply(this, given);
  };
  IDBObjectStore.prototype.put = function (...given) {
    if (setting.storage === 'full') throw new DOMException('The disk is full.', 'QuotaExceededError');
    return realPut.apply(this, given);
  };
  // endregion

  const apply = (next) => {
    const before = { ...setting };
    Object.assign(setting, next);
    // An open connection stays open: only a new page finds that the storage is refused.
    if (before.storage !== setting.storage && [before.storage, setting.storage].includes('refused')) location.reload();
    // The page wakes up, as after a sleep during which the clock was set.
    else if (before.shiftMs !== setting.shiftMs || before.skewMs !== setting.skewMs) dispatchEvent(new Event('online'));
    else if ([before.fault, setting.fault].includes('offline') && before.fault !== setting.fault)
      dispatchEvent(new Event(navigator.onLine ? 'online' : 'offline'));
    tell();
  };

  const NORMAL = { fault: 'none', skewMs: 0, storage: 'works' };
  const WORDS = {
    fault: {
      offline: 'the network is off',
      503: 'the operator answers 503',
      429: 'the operator answers 429',
      hang: 'the operator does not respond',
      malformed: 'the operator sends malformed responses',
      'wrong-key': 'the operator encrypts with a wrong key',
    },
    skewMs: { 3600000: "the reader's clock is 1 h ahead", '-3600000': "the reader's clock is 1 h behind" },
    storage: { refused: "the reader's storage is refused", full: "the reader's disk is full" },
  };
  /** Tell on each page what the visitor has chosen to fail, on whichever page. */
  const tell = () => {
    const notice = document.getElementById('in-force');
    if (!notice) return;
    const words = Object.entries(WORDS).flatMap(([name, of]) => of[setting[name]] ?? []);
    notice.hidden = words.length === 0;
    notice.firstElementChild.textContent = `Chosen to fail: ${words.join(', ')}.`;
  };
  const end = async () => {
    const headers = { 'content-type': 'application/json' };
    for (const controls of ['/demo', '/compare/demo'])
      await realFetch(`${controls}/setting`, { method: 'POST', headers, body: JSON.stringify(NORMAL) });
    window.demoWorld.spread(NORMAL);
  };
  addEventListener('DOMContentLoaded', () => {
    tell();
    document.querySelector('#in-force button')?.addEventListener('click', end);
  });
  // A visit ends with its last page, and with it what was chosen: the first page of the next visit is the only one that is open.
  if (window === top) {
    const isSameTab = sessionStorage.getItem('visit');
    sessionStorage.setItem('visit', 'yes');
    navigator.locks.request('demo-visit', { ifAvailable: true }, (lock) => lock && !isSameTab && end());
    navigator.locks.request('demo-visit', { mode: 'shared' }, () => new Promise(() => {}));
  }
  const channel = new BroadcastChannel(name);
  channel.onmessage = ({ data }) => apply(data);
  window.demoWorld = {
    setting,
    speed,
    realNow: () => RealDate.now(),
    realInterval: (call, ms) => realTimers.setInterval.call(window, call, ms),
    /** Apply a setting here and in every other page. */
    spread(next) {
      channel.postMessage(next);
      apply(next);
    },
  };
})();
