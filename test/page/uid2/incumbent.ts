/** Loads the ecosystem's own browser SDK, which is not part of this repository, into the page of a test. */

import { readFileSync } from 'node:fs';
import { runInThisContext } from 'node:vm';
import type { Sdk } from './scenarios.ts';

/** Run the script-tag file at a path, as a page does, and return the global. */
export const installIncumbent = (path: string): Sdk => {
  // In the global scope, like a script.
  runInThisContext(readFileSync(path, 'utf8'), path);
  return window.__uid2;
};

/** Make an `XMLHttpRequest` that sends through a `fetch`: the SDK uses it, the drop-in does not. */
export const requestThrough = (send: typeof globalThis.fetch) =>
  class extends EventTarget {
    static readonly DONE = 4;
    readonly DONE = 4;
    onreadystatechange: (() => unknown) | null = null;
    readyState = 0;
    status = 0;
    responseText = '';
    readonly #headers = new Headers();
    #url = '';
    #method = 'GET';

    open(method: string, url: string) {
      this.#method = method;
      this.#url = url;
    }
    overrideMimeType() {}
    setRequestHeader(name: string, value: string) {
      this.#headers.set(name, value);
    }
    send(body?: string) {
      const done = (status: number, text: string) => {
        if (this.readyState === this.DONE) return;
        Object.assign(this, { readyState: this.DONE, status, responseText: text });
        this.onreadystatechange?.();
      };
      this.#done = done;
      send(this.#url, { method: this.#method, headers: this.#headers, body: body ?? null }).then(
        async (response) => done(response.status, await response.text()),
        () => done(0, ''),
      );
    }
    #done = (_status: number, _text: string) => {};
    abort() {
      // As in browsers: the handler of a request that was aborted is called.
      this.#done(0, '');
    }
  };
