/**
 * A fake of the secure-signals part of Google Publisher Tag, according to its documentation: `secureSignalProviders` is an array
 * until the tag loads, then an object with `push` and `clearAllCache`. A provider is called if no signal of it is cached. IMA has
 * the same cache and the same array, no queue, and its own `clearAllCache`.
 */

interface Provider {
  id?: string;
  networkCode?: string;
  collectorFunction(): Promise<unknown>;
}

type Google = { cmd?: (() => void)[]; secureSignalProviders?: Provider[] };

const globals = globalThis as never as { googletag?: Google | undefined; google?: unknown };

/** Create a tag that a test loads later. `cache` outlives a page, as local storage does. */
export const createGpt = (cache = new Map<string, unknown>(), kind: 'gpt' | 'ima' = 'gpt') => {
  const pushes: string[] = [];
  /** Invalid results of collectors: empty or not a string, or a rejection. */
  const broken: unknown[] = [];
  const calls: ('push' | 'clear')[] = [];
  const providers: Provider[] = [];
  const collect = (provider: Provider) => {
    const id = (provider.id ?? provider.networkCode)!;
    if (cache.has(id)) return;
    provider.collectorFunction().then(
      (signal) => (typeof signal === 'string' && signal ? cache.set(id, signal) : broken.push(signal)),
      (error) => broken.push(error),
    );
  };
  const add = (provider: Provider) => {
    calls.push('push');
    pushes.push((provider.id ?? provider.networkCode)!);
    providers.push(provider);
    collect(provider);
  };
  return {
    pushes,
    calls,
    broken,
    cache,
    cleared: () => calls.filter((call) => call === 'clear').length,
    load: () => {
      const google = (globals.googletag ??= {});
      const before = google.secureSignalProviders ?? [];
      const queued = google.cmd ?? [];
      const clearAllCache = () => {
        calls.push('clear');
        cache.clear();
        providers.forEach(collect);
      };
      if (kind === 'ima') {
        google.secureSignalProviders = Object.assign([], { push: add });
        globals.google = { ima: { secureSignals: { clearAllCache } } };
      } else
        Object.assign(google, {
          secureSignalProviders: { push: add, clearAllCache },
          cmd: { push: (call: () => void) => call() },
        });
      before.forEach(add);
      if (kind === 'gpt') for (const call of queued) call();
      const script = document.createElement('script');
      document.head.append(script);
      script.dispatchEvent(new Event('load'));
      script.remove();
    },
  };
};

/** Remove all globals of tag and adapter, as a navigation does. */
export const leavePage = () => {
  delete globals.googletag;
  delete globals.google;
  Reflect.deleteProperty(globalThis, Symbol.for('tesseraSignals'));
  for (const name of ['getUid2AdvertisingToken', 'getEuidAdvertisingToken']) Reflect.deleteProperty(globalThis, name);
};
