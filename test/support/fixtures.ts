/** The fixture of the tests that combine both ends: a real operator and real sessions in one process, under one fake clock. */

import { createOperator, type OperatorOptions } from '../../src/operator/index.ts';
import { answerOf, createClient } from '../../src/server/index.ts';
import { createSession, memoryStore, type Session, type SessionOptions, type Store } from '../../src/session/index.ts';
import { createSteps, recordEvents } from './clock.ts';

const API_KEY = 'UID2-C-L-777-fixture.for-tests-only-and-nothing-else-at-all';
const SECRET = 'c3RhZ2Utc2VjcmV0LWZvci1zdG9yaWVzLW9ubHktMTI=';

/**
 * Build the fixture with an operator.
 *
 * @param options  options of the operator, whose lifetimes are in seconds.
 */
export const createOperatorFixture = (options: OperatorOptions = {}) => {
  const operator = createOperator({
    apiKey: API_KEY,
    clientSecret: SECRET,
    siteId: 777,
    roles: ['GENERATOR', 'MAPPER', 'OPTOUT'],
    rootSecret: SECRET,
    identityExpires: 3600,
    refreshFrom: 900,
    refreshExpires: 86_400,
    ...options,
  });
  const baseUrl = 'https://operator.example';
  const requests: string[] = [];
  let pending = 0;
  /** Handles each request in place of the operator; `go` passes it on. If undefined, the network works. */
  let fault: ((request: Request, go: () => Promise<Response>) => Promise<Response>) | undefined;

  const fetch = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const request = new Request(input, init);
    requests.push(new URL(request.url).pathname);
    const go = () => operator.fetch(request);
    pending++;
    try {
      return await (fault ? fault(request, go) : go());
    } finally {
      pending--;
    }
  };
  const client = createClient({
    baseUrl,
    apiKey: API_KEY,
    clientSecret: SECRET,
    fetch: (input, init) => operator.fetch(new Request(input, init)),
  });
  const sessions: Session[] = [];

  const fixture = {
    operator,
    client,
    baseUrl,
    requests,
    fetch,
    /** Let `next` handle all further requests. Without an argument, requests reach the operator again. */
    network: (next?: typeof fault) => (fault = next),
    /** Generate a set for a user, in the form in which the publisher's server passes it to the page. */
    answerFor: async (email: string) => answerOf(await client.generate({ email })),
    /** Open a session and record its events. Its store is in memory unless the options contain one. */
    open: (options: Partial<SessionOptions> = {}) => {
      const store: Store = options.store ?? memoryStore();
      const session = createSession({ baseUrl, fetch, name: `fixture-${sessions.length}`, ...options, store });
      sessions.push(session);
      const events = recordEvents(session);
      return { session, store, events };
    },
    ...createSteps(() => pending),
    /** Close all sessions. No timer is left afterwards. */
    close: () => {
      for (const session of sessions) session.close();
    },
  };
  return fixture;
};
