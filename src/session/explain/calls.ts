/** Checks the arguments of a session's methods. */

import { choiceFault, kindOf, nameFault, throwIf, typeFault } from '../../token/checks.ts';
import { expectedGot } from '../../token/errors.ts';
import type { EventName } from '../rules/session-events.ts';
import type { Session } from '../types.ts';
import { nearest } from './nearest.ts';
import { checkLabel, type Inside, watchFailures, watchSignIn, watchWaiting } from './warnings.ts';

/** Every event: those of the types, and those that `on` spells out. */
const EVENTS = Object.keys({
  token: 1,
  expired: 1,
  optout: 1,
  needsTokens: 1,
  error: 1,
} satisfies Record<EventName, 1> satisfies Record<Parameters<Session['on']>[0], 1>);

/** The methods that take arguments, each with the names of its options. */
const CALLS = {
  getToken: { timeoutMs: 1 } satisfies OptionsOf<'getToken'>,
  setTokens: { user: 1 } satisfies OptionsOf<'setTokens', 1>,
  clear: { forget: 1 } satisfies OptionsOf<'clear'>,
  signIn: { user: 1 } satisfies OptionsOf<'signIn'>,
};

/** The names of the options of a method: of its parameter number `N`. */
type OptionsOf<M extends keyof Session, N extends number = 0> = Session[M] extends (...given: infer Given) => unknown
  ? Record<keyof NonNullable<Given[N]>, 1>
  : never;

/** Null and undefined mean no options. */
function checkCallOptions(method: keyof typeof CALLS, given: unknown): void {
  if (given === undefined || given === null) return;
  const path = `${method}: options`;
  if (typeof (given as Event).preventDefault === 'function')
    throwIf(expectedGot(path, 'object', `an event: listen with () => session.${method}()`));
  throwIf(typeFault(path, 'object', given) ?? nameFault(`${path}.`, Object.keys(CALLS[method]), given));
}

/** Returns the same session, whose methods check their arguments, and which warns about its failures and if it waits. */
export function checkArguments(session: Session, core: Inside): Session {
  const stopWatching = watchWaiting(session, core);
  const failures = watchFailures();
  const noteSignIn = watchSignIn(core);
  core.events.on('failure', failures.warn);
  const { getToken, setTokens, clear, signIn, on, subscribe, close } = session;
  const checked: Pick<Session, keyof typeof CALLS | 'on' | 'subscribe' | 'close'> = {
    getToken(options) {
      checkCallOptions('getToken', options);
      throwIf(timeoutFault(options?.timeoutMs));
      return getToken(options);
    },
    setTokens(answer, options) {
      checkCallOptions('setTokens', options);
      checkLabel(options?.user);
      return setTokens(answer, options);
    },
    clear(options) {
      checkCallOptions('clear', options);
      const { forget } = options ?? {};
      throwIf(forget === undefined ? undefined : typeFault('clear: options.forget', 'boolean', forget));
      return clear(options);
    },
    signIn(options) {
      checkCallOptions('signIn', options);
      checkLabel(options?.user);
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
    close() {
      stopWatching();
      close();
    },
  };
  return Object.assign(session, checked);
}

function eventFault(event: unknown): string | undefined {
  const fault = choiceFault('on: event', EVENTS, event);
  const near = fault && typeof event === 'string' ? nearest(event, EVENTS) : undefined;
  return near ? `${fault}; did you mean '${near}'?` : fault;
}

/** 0 returns only the current token; `Infinity` is reduced to the longest timer. */
function timeoutFault(given: unknown): string | undefined {
  if (given === undefined || (typeof given === 'number' && given >= 0)) return undefined;
  return expectedGot(
    'getToken: options.timeoutMs',
    'number of ms from 0',
    typeof given === 'number' ? given : kindOf(given),
  );
}
