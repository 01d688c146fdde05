/** Checks the arguments of a session's methods. */

import { choiceFault, type TypeName, throwIf, typeFault } from '../../token/checks.ts';
import { expectedGot } from '../../token/errors.ts';
import { nearest } from '../../token/nearest.ts';
import type { EventName } from '../rules/session-events.ts';
import type { Session } from '../types.ts';
import { checkMembers } from './options.ts';
import { explainState } from './state.ts';
import { checkLabel, type Inside, watchFailures, watchSignIn, watchWaiting } from './warnings.ts';

const EVENTS = Object.keys({
  token: 1,
  expired: 1,
  optout: 1,
  needsTokens: 1,
  error: 1,
} satisfies Record<EventName, 1> satisfies Record<Parameters<Session['on']>[0], 1>);

const CALLS = {
  getToken: { timeoutMs: 'number' } satisfies OptionsOf<'getToken'>,
  setTokens: { user: 'any' } satisfies OptionsOf<'setTokens', 1>,
  clear: { forget: 'boolean' } satisfies OptionsOf<'clear'>,
  signIn: { user: 'any' } satisfies OptionsOf<'signIn'>,
};

/** `N`: the number of the parameter. */
type OptionsOf<M extends keyof Session, N extends number = 0> = Session[M] extends (...given: infer Given) => unknown
  ? Record<keyof NonNullable<Given[N]>, TypeName | 'any'>
  : never;

/** Null and undefined mean no options. Returns what is given. */
function checked<T>(method: keyof typeof CALLS, given: T): T {
  if (given === undefined || given === null) return given;
  const path = `${method}: options`;
  if (typeof (given as { preventDefault?: unknown }).preventDefault === 'function')
    throwIf(expectedGot(path, 'object', `an event: listen with () => session.${method}()`));
  throwIf(typeFault(path, 'object', given));
  checkMembers(`${path}.`, CALLS[method], given);
  checkLabel((given as { user?: unknown }).user);
  return given;
}

/** Returns the same session, whose methods check their arguments, and which warns about its failures and if it waits. */
export function checkArguments(session: Session, core: Inside): Session {
  const stopWatching = watchWaiting(session, core);
  const failures = watchFailures();
  const noteSignIn = watchSignIn(core);
  core.events.on('failure', failures.warn);
  const { getToken, setTokens, clear, signIn, on, subscribe, close } = session;
  return Object.assign<Session, Pick<Session, keyof typeof CALLS | 'on' | 'subscribe' | 'explain' | 'close'>>(session, {
    getToken: (options) => getToken(checked('getToken', options)),
    setTokens: (answer, options) => setTokens(answer, checked('setTokens', options)),
    clear: (options) => clear(checked('clear', options)),
    signIn(options) {
      checked('signIn', options);
      noteSignIn();
      return signIn(options);
    },
    on(event, listener) {
      throwIf(eventFault(event) ?? typeFault('on: listener', 'function', listener));
      if (event === 'error') failures.isHeard = true;
      return on(event, listener);
    },
    subscribe(listener) {
      throwIf(typeFault('subscribe: listener', 'function', listener));
      return subscribe(listener);
    },
    explain: () => explainState(session.state, session.advertisingToken, core.now()),
    close() {
      stopWatching();
      close();
    },
  });
}

function eventFault(event: unknown): string | undefined {
  const fault = choiceFault('on: event', EVENTS, event);
  const near = fault && typeof event === 'string' ? nearest(event, EVENTS) : undefined;
  return near ? `${fault}; did you mean '${near}'?` : fault;
}
