/**
 * The network of a testbed: a `fetch` for the page, another for the publisher's server, and the faults between them and the
 * service. A fault lasts until the next one or until `online()`.
 */

import type { Operator } from '../operator/index.ts';
import { integerFault } from '../token/checks.ts';

type Fault =
  | { readonly type: 'offline' }
  | {
      readonly type: 'answer';
      readonly status: number;
      readonly headers: Record<string, string>;
      readonly body: string;
    }
  | { readonly type: 'hang' };

export interface NetworkPorts {
  readonly operator: Operator;
  readonly baseUrl: string;
  readonly siteUrl: string;
  readonly tokenPath: string;
  handler(request: Request): Promise<Response>;
  /** The service's clock, epoch ms, which a server sends as `Date`. */
  now(): number;
}

export function createNetwork(ports: NetworkPorts) {
  const { operator, baseUrl, siteUrl, tokenPath, handler, now } = ports;
  let fault: Fault | undefined;

  const callService = async (request: Request): Promise<Response> => {
    if (fault?.type === 'hang') return new Promise<never>(() => {});
    const response = fault?.type === 'answer' ? new Response(fault.body || null, fault) : await operator.fetch(request);
    if (!response.headers.has('date')) response.headers.set('date', new Date(now()).toUTCString());
    return response;
  };
  const routed = async (request: Request): Promise<Response> => {
    const { origin, pathname } = new URL(request.url);
    if (origin === baseUrl) return callService(request);
    if (origin === siteUrl && pathname === tokenPath) return handler(request);
    return new Response(`testbed: nothing is served at ${origin}${pathname}`, { status: 404 });
  };

  return {
    /** The page's `fetch`, which reaches only the operator and the token handler. */
    pageFetch: (async (input, init) => {
      const signal = init?.signal ?? (input instanceof Request ? input.signal : undefined);
      const request =
        input instanceof Request
          ? new Request(input, withoutSignal(init))
          : new Request(new URL(input, siteUrl), withoutSignal(init));
      return abortable(signal, async () => {
        if (fault?.type === 'offline') throw new TypeError('Failed to fetch');
        return routed(request);
      });
    }) as typeof globalThis.fetch,
    /** The `fetch` of the publisher's server, which reaches the operator even while the page is offline. */
    serverFetch: (async (input, init) =>
      abortable(init?.signal, () => callService(new Request(input, withoutSignal(init))))) as typeof globalThis.fetch,
    offline(): void {
      fault = { type: 'offline' };
      notifyPage('offline');
    },
    online(): void {
      const wasOffline = fault?.type === 'offline';
      fault = undefined;
      if (wasOffline) notifyPage('online');
    },
    answer(status: number, headers: Record<string, string> = {}, body = ''): void {
      const wrong = integerFault('status', 200, 599, status);
      if (wrong) throw new TypeError(wrong);
      fault = { type: 'answer', status, headers, body };
    },
    hang(): void {
      fault = { type: 'hang' };
    },
  };
}

/** A test environment may have its own `AbortSignal`, which Node's `Request` rejects. */
function withoutSignal(init: RequestInit = {}): RequestInit {
  const { signal: _, ...rest } = init;
  return rest;
}

function abortable(signal: AbortSignal | null | undefined, work: () => Promise<Response>): Promise<Response> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal?.reason);
    if (signal?.aborted) return onAbort();
    signal?.addEventListener('abort', onAbort, { once: true });
    work().then(resolve, reject);
  });
}

/** If there is a page, dispatch the event of a browser that goes online or offline. */
function notifyPage(type: 'online' | 'offline'): void {
  if (typeof globalThis.dispatchEvent === 'function') globalThis.dispatchEvent(new Event(type));
}
