/**
 * The operator: options in, a function from Request to Response out. It answers as soon as its state is open.
 *
 * It runs on any host of Request and Response; `node.ts` puts it behind a port. Next: `opening.ts` starts it,
 * `routes.ts` answers.
 */

import { routesOf } from './http/router.ts';
import type { Credentials } from './identity/roles.ts';
import type { Settings } from './options.ts';
import { identityOf } from './service.ts';
import type { OpenDatabase, Opened } from './start.ts';
import { openOperator } from './start.ts';

/**
 * An operator. Where its root secret comes from the database, `participants`, `made` and `fingerprint` are known when
 * `ready` has resolved, and throw a TypeError before.
 */
export interface Operator {
  /** Resolves when the state is open; rejects with a `TokenError` where it cannot be opened. Need not be waited for. */
  readonly ready: Promise<void>;
  /** Answer one request, which waits for `ready`; never rejects. 503 to all where the state cannot be opened. */
  fetch(request: Request): Promise<Response>;
  /** Credentials of the participants that the options named; what they left out was made. Secret. */
  readonly participants: readonly Credentials[];
  /** Those of them of which something was made: nobody else knows it. Secret. */
  readonly made: readonly Credentials[];
  /** The settings in force that are no secret. */
  readonly settings: Pick<
    Settings,
    'environment' | 'scope' | 'identityExpiresMs' | 'refreshFromMs' | 'refreshExpiresMs' | 'rotationPeriod'
  >;
  /** 16 hexadecimal digits that recognise the root secret. */
  readonly fingerprint: string;
  /** Where the options gave neither database nor state, nothing of opt-outs and participants outlives the process. */
  readonly inMemory: boolean;
  /** Let go of the state. Requests under way should have been answered. */
  close(): Promise<void>;
}

/** Make an operator of checked options. */
export function operatorOf(settings: Settings, openDatabase: OpenDatabase): Operator {
  let identity = settings.root && identityOf(settings, settings.root);
  let answer: ReturnType<typeof routesOf> | undefined;
  const opened = openOperator(settings, openDatabase).then((one: Opened) => {
    identity = one.identity;
    answer = routesOf(one.service);
    return one;
  });
  const ready = opened.then(() => {});
  ready.catch(() => settings.logger?.error({}, 'the state cannot be opened'));

  const known = () => {
    if (!identity) throw new TypeError('operator: expected to be ready, since its root secret comes from the database');
    return identity;
  };
  let closing: Promise<void> | undefined;
  const { environment, scope, identityExpiresMs, refreshFromMs, refreshExpiresMs, rotationPeriod } = settings;
  return {
    ready,
    fetch: async (request) => {
      if (!answer) await ready.catch(() => {});
      return answer ? answer(request) : new Response('not ready', { status: 503 });
    },
    get participants() {
      return known().credentials;
    },
    get made() {
      return known().credentials.filter((_, at) => {
        const { apiKey, clientSecret } = settings.participants[at]!;
        return apiKey === undefined || clientSecret === undefined;
      });
    },
    settings: { environment, scope, identityExpiresMs, refreshFromMs, refreshExpiresMs, rotationPeriod },
    get fingerprint() {
      return known().secrets.fingerprint;
    },
    inMemory: settings.state === undefined && settings.database === undefined,
    close: () =>
      (closing ??= opened.then(
        ({ service }) => service.state.close(),
        () => {},
      )),
  };
}
