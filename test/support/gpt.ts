/**
 * Google's ad tag as far as secure signals go, by its documentation: providers are an array until it loads, an object with
 * `push` and `clearAllCache` afterwards; a provider is asked where nothing is cached for it, and its answer is kept.
 */

interface Provider {
  id?: string;
  networkCode?: string;
  collectorFunction(): Promise<unknown>;
}

type Google = { cmd?: (() => void)[]; secureSignalProviders?: Provider[] };

const globals = window as never as { googletag?: Google | undefined; tesseraSignals?: unknown };

/** Put a GPT on the page that can be loaded later. `cache` outlives a page, as local storage does. */
export const createGpt = (cache = new Map<string, unknown>()) => {
  const pushes: string[] = [];
  /** What a collector broke: null, nothing, no string, a rejection. */
  const broken: unknown[] = [];
  const providers: Provider[] = [];
  let cleared = 0;
  const collect = (provider: Provider) => {
    const id = (provider.id ?? provider.networkCode)!;
    if (cache.has(id)) return;
    provider.collectorFunction().then(
      (signal) => (typeof signal === 'string' && signal ? cache.set(id, signal) : broken.push(signal)),
      (error) => broken.push(error),
    );
  };
  const add = (provider: Provider) => {
    pushes.push((provider.id ?? provider.networkCode)!);
    providers.push(provider);
    collect(provider);
  };
  return {
    pushes,
    broken,
    /** Signals by provider. */
    cache,
    cleared: () => cleared,
    load: () => {
      const google = (globals.googletag ??= {});
      const before = google.secureSignalProviders ?? [];
      const calls = google.cmd ?? [];
      Object.assign(google, {
        secureSignalProviders: {
          push: add,
          clearAllCache: () => {
            cleared++;
            cache.clear();
            providers.forEach(collect);
          },
        },
        cmd: { push: (call: () => void) => call() },
      });
      before.forEach(add);
      for (const call of calls) call();
    },
  };
};

/** Leave the page as if nothing had been on it: what a navigation does. */
export const leavePage = () => {
  delete globals.googletag;
  delete globals.tesseraSignals;
  for (const name of ['getUid2AdvertisingToken', 'getEuidAdvertisingToken']) Reflect.deleteProperty(window, name);
};
