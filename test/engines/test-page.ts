/**
 * The test page. It records every event of the page and of its session together with the time and the state of the session:
 * durations are measured between these records, not between commands of the test.
 */

import type { Session, SessionOptions } from '../../src/session/index.ts';

/** A recorded event. */
export interface Note {
  /** Epoch ms; all tabs and the service share one clock. */
  readonly at: number;
  /**
   * An event of the page or of the session, `change` of its state, `asked` and `answered` of a refresh, or `getToken`:
   * the result of the first call after the page was restored or resumed.
   */
  readonly what: string;
  readonly phase: string | undefined;
  readonly token: string | undefined;
}

/** The global `harness` of the page. */
export interface Harness {
  readonly notes: readonly Note[];
  /** Console errors, uncaught errors and unhandled rejections. */
  readonly errors: readonly string[];
  /** Number of refreshes that this page has sent. */
  readonly asked: number;
  /** Number of them that are over. */
  readonly answered: number;
  session?: Session;
  start(options: SessionOptions): void;
}

/** Runs in the page before all other scripts. It is inserted as text, so it must not use anything from outside. */
const inPage = () => {
  const harness = {
    notes: [] as Note[],
    errors: [] as string[],
    asked: 0,
    answered: 0,
    session: undefined as Session | undefined,
    start: (options: SessionOptions) => {
      const { tessera } = window as unknown as { tessera: { createSession(given: SessionOptions): Session } };
      const session = tessera.createSession(options);
      harness.session = session;
      for (const event of ['token', 'expired', 'optout', 'needsTokens'] as const) session.on(event, () => note(event));
      session.on('error', ({ code }) => note(`error ${code}`));
      session.subscribe(() => note('change'));
    },
  };
  Object.assign(window, { harness });

  const note = (what: string, token = harness.session?.advertisingToken) => {
    harness.notes.push({ at: Date.now(), what, phase: harness.session?.state.phase, token });
  };
  // Registered before the session's listeners: the earliest moment at which a page can read or request a token.
  for (const event of ['pageshow', 'pagehide', 'visibilitychange', 'freeze', 'resume'])
    addEventListener(
      event,
      async (dispatched) => {
        const { persisted } = dispatched as PageTransitionEvent;
        note(persisted ? `${event} persisted` : event);
        if (event === 'resume' || (event === 'pageshow' && persisted))
          note('getToken', await harness.session?.getToken().catch(() => undefined));
      },
      true,
    );

  const recordError = (what: unknown) => harness.errors.push(String(what));
  addEventListener('error', ({ message }) => recordError(message));
  addEventListener('unhandledrejection', ({ reason }) => recordError(reason));
  const { error } = console;
  console.error = (...args: unknown[]) => {
    recordError(args.join(' '));
    error(...args);
  };

  const { fetch } = window;
  window.fetch = async (...given) => {
    const isRefresh = String(given[0]).endsWith('/v2/token/refresh');
    if (!isRefresh) return fetch(...given);
    harness.asked++;
    note('asked');
    try {
      return await fetch(...given);
    } finally {
      harness.answered++;
      note('answered');
    }
  };

  // A frame of another origin can only be reached by messages.
  addEventListener('message', async ({ data, source }) => {
    if (typeof data?.ask !== 'string') return;
    let answer: unknown;
    try {
      answer = { value: await new Function(`return ${data.ask}`)() };
    } catch (thrown) {
      answer = { thrown: String(thrown) };
    }
    (source as Window).postMessage({ of: data.of, answer }, '*');
  });
};

/**
 * Runs in a page that simulates the next version of the runtime: it stores records in the next format and reads both
 * formats.
 */
const inNextFormat = () => {
  const { put } = IDBObjectStore.prototype;
  IDBObjectStore.prototype.put = function (value, key) {
    return put.call(this, { ...value, v: value.v + 1 }, key);
  };
  const { get: resultOf } = Object.getOwnPropertyDescriptor(IDBRequest.prototype, 'result')!;
  Object.defineProperty(IDBRequest.prototype, 'result', {
    get() {
      const result = resultOf!.call(this);
      return result?.v === 3 ? { ...result, v: 2 } : result;
    },
  });
};

/** HTML of the test page with a session of these options; `isNext` simulates the next version of the runtime. */
export const pageWith = (options: SessionOptions, isNext = false): string => `<!doctype html>
<meta charset="utf-8"><title>page</title><link rel="icon" href="data:,">
<script>(${inPage})();</script>
${isNext ? `<script>(${inNextFormat})();</script>` : ''}
<script src="tessera.js"></script>
<script>harness.start(${JSON.stringify(options)});</script>`;

/**
 * A function for a page, as text: it sends expressions as messages `{ ask, of }` and resolves with the `{ of, answer }` that
 * comes back. Its parameters: the target that receives the answers, and a function that posts a message.
 */
export const askFunction = `((target, post) => {
  let asked = 0;
  return (ask) => new Promise((resolve, reject) => {
    const of = ++asked;
    target.addEventListener('message', function onMessage({ data }) {
      if (data.of !== of) return;
      target.removeEventListener('message', onMessage);
      'value' in data.answer ? resolve(data.answer.value) : reject(new Error(data.answer.thrown));
    });
    post({ ask, of });
  });
})`;

/** HTML of a page with another one in a sandboxed frame, which has an opaque origin and is denied all storage. */
export const sandboxWith = (page: string): string => `<!doctype html>
<meta charset="utf-8"><title>sandbox</title><link rel="icon" href="data:,">
<iframe sandbox="allow-scripts" src="${page}"></iframe>
<script>
  const askFrame = ${askFunction}(window, (message) => frames[0].postMessage(message, '*'));
</script>`;
