/** Checks the arguments of a session's methods: a TypeError names the method and argument, what was expected and what was passed. */

import { choiceFault, kindOf, nameFault, throwIf, typeFault } from '../../token/checks.ts';
import { expectedGot } from '../../token/errors.ts';

/** Every event. */
const EVENTS = ['token', 'expired', 'optout', 'needsTokens', 'error'];

/** The methods that are checked. */
interface Methods {
  getToken(options?: { timeoutMs?: number | undefined }): unknown;
  setTokens(answer: never, options?: object): unknown;
  clear(options?: { forget?: boolean | undefined }): unknown;
  signIn(options?: object): unknown;
  on(event: never, listener: never): unknown;
  subscribe(listener: never): unknown;
}

/**
 * Check the options of a method; null and undefined mean no options.
 *
 * @param known  the names that the method accepts.
 * @throws {TypeError} if they are not an object, or contain an unknown name.
 */
function checkCallOptions(method: string, known: readonly string[], given: unknown): void {
  if (given === undefined || given === null) return;
  const path = `${method}: options`;
  if (typeof (given as Event).preventDefault === 'function')
    throwIf(expectedGot(path, 'object', `an event: listen with () => session.${method}()`));
  throwIf(typeFault(path, 'object', given) ?? nameFault(`${path}.`, known, given));
}

/** Make the methods of a session check their arguments. Returns the same session. */
export function checkArguments<Session extends Methods>(session: Session): Session {
  const { getToken, setTokens, clear, signIn, on, subscribe } = session;
  const checked: Methods = {
    getToken(options) {
      checkCallOptions('getToken', ['timeoutMs'], options);
      throwIf(timeoutFault(options?.timeoutMs));
      return getToken(options);
    },
    setTokens(answer, options) {
      checkCallOptions('setTokens', ['user'], options);
      return setTokens(answer, options);
    },
    clear(options) {
      checkCallOptions('clear', ['forget'], options);
      const { forget } = options ?? {};
      throwIf(forget === undefined ? undefined : typeFault('clear: options.forget', 'boolean', forget));
      return clear(options);
    },
    signIn(options) {
      checkCallOptions('signIn', ['user'], options);
      return signIn(options);
    },
    on(event, listener) {
      throwIf(choiceFault('on: event', EVENTS, event) ?? typeFault('on: listener', 'function', listener));
      return on(event, listener);
    },
    subscribe(listener) {
      throwIf(typeFault('subscribe: listener', 'function', listener));
      return subscribe(listener);
    },
  };
  return Object.assign(session, checked);
}

/** Check a time limit. 0 returns only the current token; `Infinity` is reduced to the longest timer. */
function timeoutFault(given: unknown): string | undefined {
  if (given === undefined || (typeof given === 'number' && given >= 0)) return undefined;
  return expectedGot(
    'getToken: options.timeoutMs',
    'number of ms from 0',
    typeof given === 'number' ? given : kindOf(given),
  );
}
