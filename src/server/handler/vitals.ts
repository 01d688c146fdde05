/**
 * The server side of `tessera-id/vitals`: a function from Request to Response that reads the report of a page view.
 *
 * Anyone can send a report, so it is rebuilt from a closed list of members and values. No cookie is read.
 */

import { integerFault, ownMembers } from '../../token/checks.ts';
import { VITALS_VALUES, type VitalsCounts, type VitalsReport } from '../../token/vitals-report.ts';
import { readBytes } from '../call/read-response.ts';
import { checkFunction, checkOptionNames, checkRequest } from '../checks.ts';
import { checkOrigins, isAllowedCaller, preflightHeaders } from './cross-site.ts';

/** Options of `vitalsHandler`. */
export interface VitalsHandlerOptions {
  /**
   * Receives each report. It has no member besides those of {@link VitalsReport} or {@link VitalsCounts}, and no text that is not in
   * their types, so all of them are safe as labels of a metric. The response waits for the promise that it returns.
   */
  readonly record: (report: VitalsReport | VitalsCounts) => unknown;
  /** Other origins whose pages may send reports, as for `tokenHandler`. Default: none. */
  readonly origins?: readonly string[] | undefined;
}

const NAMES: Record<keyof VitalsHandlerOptions, true> = { record: true, origins: true };

/** A report has about 300. */
const MAX_BYTES = 2048;

/** The longest page view that is counted, 30 days, ms; and the most calls. */
const MOST = 2_592_000_000;

type Members = Record<string, unknown>;

/** Copies what is valid. @throws {TypeError} for anything else. */
function createReader(given: unknown) {
  const members = ownMembers<Members>(given as Members);
  return {
    text<Name extends keyof typeof VITALS_VALUES>(name: Name): (typeof VITALS_VALUES)[Name][number] {
      const value = members[name] as never;
      if (!(VITALS_VALUES[name] as readonly unknown[]).includes(value)) throw new TypeError(name);
      return value;
    },
    count(name: string): number {
      if (integerFault(name, 0, MOST, members[name])) throw new TypeError(name);
      return members[name] as number;
    },
    has: (name: string): boolean => members[name] !== undefined,
    members,
  };
}

/** @throws {TypeError} with the name of a wrong member. */
function reportIn(text: string): VitalsReport | VitalsCounts {
  const { members, has, text: textOf, count } = createReader(JSON.parse(text));
  if (members['version'] !== 1) throw new TypeError('version');
  const counts: VitalsCounts = {
    version: 1,
    phase: textOf('phase'),
    ...(has('waitingFor') && { waitingFor: textOf('waitingFor') }),
  };
  if (!has('calls')) return counts;
  const calls = createReader(members['calls']);
  const auctionHadToken = members['auctionHadToken'];
  if (auctionHadToken !== undefined && typeof auctionHadToken !== 'boolean') throw new TypeError('auctionHadToken');
  return {
    ...counts,
    integration: textOf('integration'),
    navigation: textOf('navigation'),
    ...(has('tokenMs') && { tokenMs: count('tokenMs') }),
    ...(has('cause') && { cause: textOf('cause') }),
    ...(auctionHadToken !== undefined && { auctionHadToken }),
    persistence: textOf('persistence'),
    ...(has('lateStoreMs') && { lateStoreMs: count('lateStoreMs') }),
    calls: { provide: calls.count('provide'), refresh: calls.count('refresh'), failed: calls.count('failed') },
    ...(has('lastError') && { lastError: textOf('lastError') }),
    ...(has('nextReason') && { nextReason: textOf('nextReason') }),
  };
}

async function answerTo(
  request: Request,
  record: VitalsHandlerOptions['record'],
  origins: ReadonlySet<string>,
): Promise<Response> {
  const allowed = preflightHeaders(request, origins);
  if (allowed) return new Response(null, { status: 204, headers: allowed });
  if (request.method !== 'POST') return new Response(null, { status: 405, headers: { allow: 'POST' } });
  if (!isAllowedCaller(request, origins)) return new Response(null, { status: 403 });
  const { bytes, isComplete } = await readBytes(request, MAX_BYTES);
  if (!isComplete) return new Response(null, { status: 413 });
  let report: VitalsReport | VitalsCounts;
  try {
    report = reportIn(new TextDecoder().decode(bytes));
  } catch {
    return new Response(null, { status: 400 });
  }
  await record(report);
  return new Response(null, { status: 204 });
}

/**
 * Create the request handler of one URL, for example `/vitals`, to which pages send the reports of `onVitals`.
 *
 * | request | answer |
 * |---|---|
 * | `POST` of a report | 204, after `record` |
 * | a body that is no report of this version | 400 |
 * | a body of more than 2 KiB | 413 |
 * | from a page on another origin that `origins` does not list | 403 |
 * | `OPTIONS` (preflight) from a page on one of `origins` | 204 |
 * | any other method | 405 |
 *
 * No answer has a body. The promise rejects with what `record` throws: a server then answers 500.
 *
 * @throws {TypeError} for an invalid option; the message names it, what was expected and what was passed.
 * @example
 * const vitals = vitalsHandler({ record: ({ phase }) => views.inc({ phase }) });
 * app.post('/vitals', toNodeListener(vitals));
 */
export function vitalsHandler(options: VitalsHandlerOptions): (request: Request) => Promise<Response> {
  const { record, origins: given = [] } = checkOptionNames('options', NAMES, options);
  checkFunction('record', record);
  const origins = checkOrigins(given);
  return async (request) => {
    checkRequest('vitalsHandler: request', request);
    const response = await answerTo(request, record, origins);
    response.headers.set('cache-control', 'no-store');
    return response;
  };
}
