// Runs before every other script of a page and makes its clock and storage follow the dashboard. Later scripts see a device whose
// clock is wrong or whose disk is full, and need no code for the demo.

(() => {
  const setting = JSON.parse(document.querySelector('meta[name=demo]').content);
  const RealDate = Date;
  const realOpen = IDBFactory.prototype.open;
  const realPut = IDBObjectStore.prototype.put;
  const now = () => RealDate.now() + (setting.shiftMs ?? 0) + (setting.skewMs ?? 0);

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
  };
  const channel = new BroadcastChannel('demo-world');
  channel.onmessage = ({ data }) => apply(data);
  window.demoWorld = {
    setting,
    realNow: () => RealDate.now(),
    /** Apply a setting here and in every other page. */
    spread(next) {
      channel.postMessage(next);
      apply(next);
    },
  };
})();
