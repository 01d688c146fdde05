/** The test worker and its page. The worker records which timers, listeners, channels and databases its session opens. */

import type { Session, SessionOptions, Store } from '../../src/session/index.ts';
import { askFunction } from './test-page.ts';

interface Loaded {
  createSession(options: SessionOptions): Session;
  memoryStore(): Store;
}

/** Runs in the worker. It is inserted as text, so it must not use anything from outside. */
const inWorker = (load: () => Promise<Loaded>) => {
  // The types describe a window; a worker has these of its functions.
  const { addEventListener, removeEventListener, setTimeout, clearTimeout, postMessage } = globalThis as unknown as {
    addEventListener: (type: string, listener: (event: never) => unknown, options?: unknown) => void;
    removeEventListener: (type: string, listener: (event: never) => unknown, options?: unknown) => void;
    setTimeout: (work: () => unknown, ms?: number) => number;
    clearTimeout: (timer?: number) => void;
    postMessage: (message: unknown) => void;
  };
  const errors: string[] = [];
  /** Open resources: an identifying value, and the kind. */
  const open = new Map<unknown, string>();

  const replacements: Record<string, unknown> = {
    setTimeout: (work: () => unknown, ms?: number) => {
      const timer = setTimeout(() => {
        open.delete(timer);
        work();
      }, ms);
      open.set(timer, 'timer');
      return timer;
    },
    clearTimeout: (timer?: number) => {
      open.delete(timer);
      clearTimeout(timer);
    },
    addEventListener: (type: string, ...more: [() => unknown]) => {
      open.set(type, type);
      addEventListener(type, ...more);
    },
    removeEventListener: (type: string, ...more: [() => unknown]) => {
      open.delete(type);
      removeEventListener(type, ...more);
    },
    BroadcastChannel: class extends BroadcastChannel {
      constructor(name: string) {
        super(name);
        open.set(this, 'channel');
      }
      override close() {
        open.delete(this);
        super.close();
      }
    },
  };
  Object.assign(globalThis, replacements);
  const { open: openDatabase } = IDBFactory.prototype;
  IDBFactory.prototype.open = function (...given) {
    const request = openDatabase.apply(this, given);
    request.addEventListener('success', () => open.set(request.result, 'database'));
    return request;
  };
  const { close: closeDatabase } = IDBDatabase.prototype;
  IDBDatabase.prototype.close = function () {
    open.delete(this);
    closeDatabase.call(this);
  };

  /** Own properties of the global object, compared by identity. */
  const globalsNow = () =>
    new Map(
      Object.entries(Object.getOwnPropertyDescriptors(globalThis)).map(([name, { value, get }]) => [
        name,
        value ?? get,
      ]),
    );
  let module: Loaded;
  const harness = {
    errors,
    /** Names of globals that have changed since before the module was loaded. */
    changed: () => {
      const now = globalsNow();
      return [...new Set([...before.keys(), ...now.keys()])].filter(
        (name) => !Object.is(before.get(name), now.get(name)),
      );
    },
    /** Kinds of the open resources. */
    left: () => [...open.values()],
    session: undefined as Session | undefined,
    start: (options: SessionOptions, isInMemory?: boolean) => {
      harness.session = module.createSession(isInMemory ? { ...options, store: module.memoryStore() } : options);
    },
  };
  Object.assign(globalThis, { harness });

  addEventListener('unhandledrejection', ({ reason }: PromiseRejectionEvent) => errors.push(String(reason)));
  addEventListener('message', async ({ data: { of, ask } }: MessageEvent) => {
    let answer: unknown;
    try {
      module = await loading;
      answer = { value: await new Function(`return ${ask}`)() };
    } catch (thrown) {
      answer = { thrown: String(thrown) };
    }
    postMessage({ of, answer });
  });
  const before = globalsNow();
  const loading = load();
};

/** Script of a worker that loads a module. */
export const workerWith = (url: string): string => `(${inWorker})(() => import('${url}'));`;

/** HTML of a page with a module worker. */
export const pageWithWorker = (url: string): string => `<!doctype html>
<meta charset="utf-8"><title>worker</title><link rel="icon" href="data:,">
<script>
  const worker = new Worker('${url}', { type: 'module' });
  const harness = { errors: [] };
  worker.onerror = ({ message }) => harness.errors.push(message ?? 'the worker did not load');
  const askWorker = ${askFunction}(worker, (message) => worker.postMessage(message));
</script>`;
