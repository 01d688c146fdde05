/**
 * A token's life inside one page: the operator, the publisher's server and the session are those of the package; only the network
 * between them is simulated. It knows nothing of the figure.
 */

import { operatorFrom } from '../../../src/operator/operator.ts';
import { resolveOptions } from '../../../src/operator/options/resolve.ts';
import { createClient, tokenHandler } from '../../../src/server/index.ts';
import { createSession, memoryStore, type Session } from '../../../src/session/index.ts';

/** What is wrong with the service. */
export type Fault = 'none' | 'offline' | '503' | '429' | 'hang';

/** The simulated page and what surrounds it. */
export interface Simulation {
  readonly session: Session;
  setFault(fault: Fault): void;
  /** Sign another user in. */
  signIn(): Promise<void>;
  signOut(): Promise<void>;
  /** Record at the operator that the user has opted out. */
  optOut(): Promise<void>;
  close(): void;
}

const BASE_URL = 'https://operator.example';
const LATENCY_MS = 150;
/** Lifetimes, s: long enough to be seen, short enough to be waited for. */
const LIFETIMES = { refreshFrom: 10, identityExpires: 30, refreshExpires: 120 };

const wait = (ms: number, signal?: AbortSignal | null): Promise<void> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });

/** What the page gets in place of an answer; undefined if the request goes through. */
const faultyAnswer = async (fault: Fault, signal?: AbortSignal | null): Promise<Response | undefined> => {
  if (fault === 'offline') throw new TypeError('Failed to fetch');
  if (fault === 'hang') await wait(600_000, signal);
  if (fault === '503') return new Response('', { status: 503 });
  if (fault === '429') return new Response('', { status: 429, headers: { 'retry-after': '15' } });
  return undefined;
};

const noDatabase = (): never => {
  throw new Error('the simulated operator has no database');
};

/** Start a page with a signed-in user. */
export function startSimulation(): Simulation {
  const operator = operatorFrom(resolveOptions({ ...LIFETIMES, roles: ['GENERATOR', 'OPTOUT'] }), noDatabase);
  const { apiKey, clientSecret } = operator.participants[0]!;
  const direct: typeof fetch = (input, init) => operator.fetch(new Request(input, init));
  const client = createClient({ baseUrl: BASE_URL, apiKey, clientSecret, fetch: direct });
  let fault: Fault = 'none';
  let users = 1;
  let signedIn = true;
  const user = () => ({ email: `reader-${users}@example.com` });
  const handler = tokenHandler({ client, user: () => (signedIn ? user() : null) });

  const session = createSession({
    baseUrl: BASE_URL,
    name: 'live-figure',
    store: memoryStore(),
    retry: { firstMs: 2_000, maxMs: 20_000 },
    timeoutMs: 5_000,
    fetch: async (input, init) => {
      await wait(LATENCY_MS, init?.signal);
      return (await faultyAnswer(fault, init?.signal)) ?? direct(input, init);
    },
    provide: async ({ signal }) => {
      await wait(LATENCY_MS, signal);
      const response = await handler(new Request('https://publisher.example/token', { method: 'POST' }));
      return response.status === 204 ? null : response.json();
    },
  });

  return {
    session,
    setFault: (next) => {
      fault = next;
    },
    signIn: async () => {
      if (!signedIn) users += 1;
      signedIn = true;
      await session.signIn();
    },
    signOut: async () => {
      signedIn = false;
      await session.clear();
    },
    optOut: async () => {
      await client.optOut(user());
      // The next user of this browser is another one.
      signedIn = false;
    },
    close: () => session.close(),
  };
}
