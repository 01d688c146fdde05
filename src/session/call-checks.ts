/**
 * Checks the arguments of a session's methods: a TypeError names the method and argument, what was expected and what was passed.
 *
 * Every build checks the options of `setTokens`, because an overlooked label would store one user's set as another's. All other
 * checks belong to the development build, where {@link checkArguments} adds them.
 */

import { choiceFault, kindOf, nameFault, throwIf, typeFault } from '../token/checks.ts';
import { isDevelopment } from '../token/development.ts';
import { expectedGot } from '../token/errors.ts';
import type { EventName } from './rules/public-state.ts';
import type { Session } from './types.ts';

/** Every event; if one is missing here, this does not compile. */
const EVENTS: Record<EventName, true> = { token: true, expired: true, optout: true, needsTokens: true, error: true };

/**
 * Check the options of a method; null and undefined mean no options.
 *
 * @param known  the names that the method accepts.
 * @throws {TypeError} if they are not an object, or contain an unknown name.
 */
export function checkCallOptions(method: string, known: readonly string[], given: unknown): void {
  if (given === undefined || given === null) return;
  // Production checks only the options of `setTokens`.
  const path = isDevelopment ? `${method}: options` : 'setTokens: options';
  if (isDevelopment && typeof (given as Event).preventDefault === 'function')
    throwIf(expectedGot(path, 'object', `an event: listen with () => session.${method}()`));
  throwIf(typeFault(path, 'object', given) ?? nameFault(`${path}.`, known, given));
}

/** Make the methods of a session check their arguments; for the development build. Returns the same session. */
export function checkArguments(session: Session): Session {
  const { getToken, clear, signIn, on, subscribe } = session;
  const checked: Pick<Session, 'getToken' | 'clear' | 'signIn' | 'on' | 'subscribe'> = {
    getToken(options) {
      checkCallOptions('getToken', ['timeoutMs'], options);
      throwIf(timeoutFault(options?.timeoutMs));
      return getToken(options);
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
      throwIf(choiceFault('on: event', Object.keys(EVENTS), event) ?? typeFault('on: listener', 'function', listener));
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
