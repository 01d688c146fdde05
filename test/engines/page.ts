/**
 * A page of the stories. It notes, with the instant, whatever happens to it and what its session says at that moment:
 * spans are measured between such instants, not between questions of the test.
 */

import type { Session, SessionOptions } from '../../src/session/index.ts';

/** Something happened. */
export interface Note {
  /** Epoch ms: one clock for all tabs and for the service. */
  readonly at: number;
  /**
   * An event of the page or of the session, `change` of its state, `asked` and `answered` of a refresh, or `getToken`:
   * the answer to whoever asked first when the page was back.
   */
  readonly what: string;
  readonly phase: string | undefined;
  readonly token: string | undefined;
}

/** The global `story` of the page. */
export interface Story {
  readonly notes: readonly Note[];
  /** Everything that went wrong in the open: errors on the console, thrown errors, rejections that nobody took. */
  readonly complaints: readonly string[];
  /** Refreshes that this page has asked the service for. */
  readonly asked: number;
  /** How many of them are over. */
  readonly answered: number;
  session?: Session;
  start(options: SessionOptions): void;
}

/** Runs in the page, before anything else there. Nothing from outside of it is there. */
const inPage = () => {
  const story = {
    notes: [] as Note[],
    complaints: [] as string[],
    asked: 0,
    answered: 0,
    session: undefined as Session | undefined,
    start: (options: SessionOptions) => {
      const { tessera } = window as unknown as { tessera: { createSession(given: SessionOptions): Session } };
      const session = tessera.createSession(options);
      story.session = session;
      for (const event of ['token', 'expired', 'optout', 'needsTokens'] as const) session.on(event, () => note(event));
      session.on('error', ({ code }) => note(`error ${code}`));
      session.subscribe(() => note('change'));
    },
  };
  Object.assign(window, { story });

  const note = (what: string, token = story.session?.advertisingToken) => {
    story.notes.push({ at: Date.now(), what, phase: story.session?.state.phase, token });
  };
  // Heard before the session hears them: this is the first that a page can read, or ask for.
  for (const event of ['pageshow', 'pagehide', 'visibilitychange', 'freeze', 'resume'])
    addEventListener(
      event,
      async (told) => {
        const { persisted } = told as PageTransitionEvent;
        note(persisted ? `${event} persisted` : event);
        if (event === 'resume' || (event === 'pageshow' && persisted))
          note('getToken', await story.session?.getToken().catch(() => undefined));
      },
      true,
    );

  const complain = (what: unknown) => story.complaints.push(String(what));
  addEventListener('error', ({ message }) => complain(message));
  addEventListener('unhandledrejection', ({ reason }) => complain(reason));
  const { error } = console;
  console.error = (...said: unknown[]) => {
    complain(said.join(' '));
    error(...said);
  };

  const { fetch } = window;
  window.fetch = async (...given) => {
    const isRefresh = String(given[0]).endsWith('/v2/token/refresh');
    if (!isRefresh) return fetch(...given);
    story.asked++;
    note('asked');
    try {
      return await fetch(...given);
    } finally {
      story.answered++;
      note('answered');
    }
  };

  // A frame that is not of its parent's origin is spoken to by messages.
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
 * Runs in a page where the runtime is of a version to come: whatever it stores is of the next form, and it understands
 * both.
 */
const inNextForm = () => {
  const { put } = IDBObjectStore.prototype;
  IDBObjectStore.prototype.put = function (value, key) {
    return put.call(this, { ...value, v: value.v + 1 }, key);
  };
  const { get: resultOf } = Object.getOwnPropertyDescriptor(IDBRequest.prototype, 'result')!;
  Object.defineProperty(IDBRequest.prototype, 'result', {
    get() {
      const result = resultOf!.call(this);
      return result?.v === 2 ? { ...result, v: 1 } : result;
    },
  });
};

/** The page, with a session of these options; `isNext`: the runtime is a version to come. */
export const pageWith = (options: SessionOptions, isNext = false): string => `<!doctype html>
<meta charset="utf-8"><title>page</title><link rel="icon" href="data:,">
<script>(${inPage})();</script>
${isNext ? `<script>(${inNextForm})();</script>` : ''}
<script src="tessera.js"></script>
<script>story.start(${JSON.stringify(options)});</script>`;

/**
 * In a page, as text: asks whoever answers messages `{ ask, of }`, as the page itself does, with `{ of, answer }`.
 * Called with where the answers are heard, and how to post.
 */
export const asking = `((hears, post) => {
  let asked = 0;
  return (ask) => new Promise((resolve, reject) => {
    const of = ++asked;
    hears.addEventListener('message', function hear({ data }) {
      if (data.of !== of) return;
      hears.removeEventListener('message', hear);
      'value' in data.answer ? resolve(data.answer.value) : reject(new Error(data.answer.thrown));
    });
    post({ ask, of });
  });
})`;

/** A page that keeps another in a frame that may run scripts and has no origin: it is refused every storage. */
export const sandboxWith = (page: string): string => `<!doctype html>
<meta charset="utf-8"><title>sandbox</title><link rel="icon" href="data:,">
<iframe sandbox="allow-scripts" src="${page}"></iframe>
<script>
  const askFrame = ${asking}(window, (message) => frames[0].postMessage(message, '*'));
</script>`;
