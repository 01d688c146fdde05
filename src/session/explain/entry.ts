/**
 * The one entry to the checks and words of the development build. The production build leaves all of it out: an error then has its
 * code, its status, and a reference to the documentation. Nothing else differs, except that an HTML page from `provide` is
 * `invalid_token_set` there and `provide_failed` here.
 *
 * Except for types, the folder imports only `token/`, so that every file of the session may import this one.
 */

import { typeFault } from '../../token/checks.ts';
import { parserOf } from './answer.ts';
import { checkArguments } from './calls.ts';
import { answerFault, changeFault, failureFault } from './consent.ts';
import { noTokenReason, timedOut } from './no-token.ts';
import { checkOptions } from './options.ts';
import { checkProvided, provideFault, provideRequest } from './provide.ts';
import { checkResponse, noAnswerReason, statusFault, unopenedFault } from './request.ts';
import { warn, watchMistakes } from './warnings.ts';

const development = {
  // Checks, which throw.
  options: checkOptions,
  session: checkArguments,
  parserOf,
  provided: checkProvided,
  provideRequest,

  // Words.
  label: (given: unknown) => typeFault('user', 'string', given),
  noToken: noTokenReason,
  timedOut,
  gateFailed: failureFault,
  gateChanged: changeFault,
  gateAnswered: answerFault,
  response: checkResponse,
  noAnswer: noAnswerReason,
  answered: statusFault,
  unopened: unopenedFault,
  provideFault,
  unreadable: (kind: string) => `${kind}: the code of this page threw or returned a value that cannot be read`,
  laterCall: 'Superseded by a later call before consent was given.',
  unconfirmed:
    'storage: the store has not confirmed the change; the next page may find the former set: load the page, and call again',
  storeLate: () => warn('storage: the store has not answered for 1.5 s; this page continues in memory until it does'),
  late: (what: string, ms: number) => `${what}: no result within ${ms} ms`,
  woken: (kind: string) => `${kind}: no answer for more than 10 s, and the page was away or is online again`,
  storeFailed: 'storage: the store failed; this page continues in memory',
  notCalled: 'store.update: expected a call of its argument, got none',
  notRefreshed: (isHeld: boolean) =>
    isHeld
      ? 'refresh: another tab was refreshing, and has brought no newer set'
      : 'refresh: too early to ask the service again; see state.next',

  // Warnings in the console, besides those of `session`.
  watch: watchMistakes,
};

/** Undefined in production. */
export const explain = typeof __TESSERA_PRODUCTION__ === 'undefined' ? development : undefined;
