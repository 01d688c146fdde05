/**
 * The one entry to the checks, messages and warnings of the development build. Without it, an error has its code, its status, and a
 * reference to the documentation. Nothing else differs, except that an HTML page from `provide` is `invalid_token_set` there and
 * `provide_failed` here. `check...` throws, `...Fault` and `...Reason` are messages of errors, `warnOf...` and `watch...` write to the
 * console. Except for types, the folder imports only `token/`, so that every file of the session may import this one.
 */

import { typeFault } from '../../token/checks.ts';
import { parserOf } from './answer.ts';
import { checkArguments } from './calls.ts';
import { gateAnswerFault, gateChangeFault, gateFailureFault } from './consent.ts';
import { noTokenReason, timeoutWithReason } from './no-token.ts';
import { checkOptions } from './options.ts';
import { checkProvided, checkProvideResponse, provideFault } from './provide.ts';
import { checkResponse, noAnswerReason, statusFault, unopenedFault } from './request.ts';
import { warn, watchMistakes } from './warnings.ts';

const development = {
  checkOptions,
  /** Also warns about failures, and about a session that waits. */
  checkArguments,
  checkProvided,
  checkProvideResponse,
  checkResponse,
  parserOf,

  labelFault: (given: unknown) => typeFault('user', 'string', given),
  gateFailureFault,
  gateChangeFault,
  gateAnswerFault,
  provideFault,
  unreadableFault: (kind: string) => `${kind}: the code of this page threw or returned a value that cannot be read`,
  updateFault: 'store.update: expected a call of its argument, got none',
  statusFault,
  unopenedFault,
  noAnswerReason,
  wokenReason: (kind: string) => `${kind}: no answer for more than 10 s, and the page was away or is online again`,
  timeLimitReason: (what: string, ms: number) => `${what}: no result within ${ms} ms`,
  timeoutWithReason,
  noTokenReason,
  notRefreshedReason:
    'refresh: no newer set: another tab was refreshing, or it is too early to ask the service again; see state.next',
  supersededReason: 'Superseded by a later call before consent was given.',
  unconfirmedReason:
    'storage: the store has not confirmed the change; the next page may find the former set: load the page, and call again',
  storeFailedReason: 'storage: the store failed; this page continues in memory',

  warnOfLateStore: () =>
    warn('storage: the store has not answered for 1.5 s; this page continues in memory until it does'),
  watchMistakes,
};

/** Undefined in production. */
export const explain = typeof __TESSERA_PRODUCTION__ === 'undefined' ? development : undefined;
