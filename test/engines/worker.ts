/** The worker of a story, and the page that has it. The worker keeps book of what its session opens and closes. */

import type { Session, SessionOptions, Store } from '../../src/session/index.ts';
import { asking } from './page.ts';

interface Loaded {
  createSession(options: SessionOptions): Session;
  memoryStore(): Store;
}

/** Runs in the worker. Nothing from outside of it is there. */
const inWorker = (load: () => Promise<Loaded>) => {
  // Of what the types take for a window, a worker has these.
  const { addEventListener, removeEventListener, setTimeout, clearTimeout, postMessage } = globalThis as unknown as {
    addEventListener: (type: string, listener: (event: never) => unknown, options?: unknown) => void;
    removeEventListener: (type: string, listener: (event: never) => unknown, options?: unknown) => void;
    setTimeout: (work: () => unknown, ms?: number) => number;
    clearTimeout: (timer?: number) => void;
    postMessage: (message: unknown) => void;
  };
  const complaints: string[] = [];
  /** What is open: something that tells it from others, and what it is. */
  const open = new Map<unknown, string>();

  const put: Record<string, unknown> = {
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
  Object.assign(globalThis, put);
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

  /** Own properties of the global object: what each of them is, told by identity. */
  const look = () =>
    new Map(
      Object.entries(Object.getOwnPropertyDescriptors(globalThis)).map(([name, { value, get }]) => [
        name,
        value ?? get,
      ]),
    );
  let module: Loaded;
  const story = {
    complaints,
    /** Names of those that are not as they were before the module was loaded. */
    changed: () => {
      const now = look();
      return [...new Set([...before.keys(), ...now.keys()])].filter(
        (name) => !Object.is(before.get(name), now.get(name)),
      );
    },
    /** What is open. */
    left: () => [...open.values()],
    session: undefined as Session | undefined,
    start: (options: SessionOptions, isInMemory?: boolean) => {
      story.session = module.createSession(isInMemory ? { ...options, store: module.memoryStore() } : options);
    },
  };
  Object.assign(globalThis, { story });

  addEventListener('unhandledrejection', ({ reason }: PromiseRejectionEvent) => complaints.push(String(reason)));
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
  const before = look();
  const loading = load();
};

/** A worker that loads a module. */
export const workerWith = (url: string): string => `(${inWorker})(() => import('${url}'));`;

/** A page that keeps a worker of module code. */
export const pageWithWorker = (url: string): string => `<!doctype html>
<meta charset="utf-8"><title>worker</title><link rel="icon" href="data:,">
<script>
  const worker = new Worker('${url}', { type: 'module' });
  const story = { complaints: [] };
  worker.onerror = ({ message }) => story.complaints.push(message ?? 'the worker did not load');
  const askWorker = ${asking}(worker, (message) => worker.postMessage(message));
</script>`;
