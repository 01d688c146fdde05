/**
 * The checks of `tessera doctor`: is the service there, do the clocks agree, what may the key do, does the secret belong to it,
 * and may a page read the answers.
 *
 * No check changes anything at the service. Key, roles and secret are checked by requests whose time is 1970: a service checks
 * key, role and secret first, and then refuses the time, so no endpoint runs. An endpoint that runs nevertheless gets a reserved
 * identity or an unknown value.
 */

import type { Client } from '../server/index.ts';
import { isTokenError } from '../token/index.ts';
import { type Connection, createConnected, type ServiceOptions } from './service-options.ts';

/** The result of one check. */
export interface Check {
  readonly name: string;
  readonly status: 'ok' | 'failed' | 'skipped';
  readonly detail: string;
  /** What to do about a failure. */
  readonly remedy?: string;
}

// The service refuses requests that are two minutes off.
const MAX_SKEW_MS = 60_000;
const TIMEOUT_MS = 10_000;

const OPTED_OUT = { email: 'optout@example.com' };

/** One request per role that a request can show. */
const CALLS: readonly (readonly [role: string, call: (client: Client) => Promise<unknown>])[] = [
  ['GENERATOR', (client) => client.validate('unknown', OPTED_OUT)],
  ['MAPPER', (client) => client.mapIdentities([OPTED_OUT]).toArray()],
  ['OPTOUT', (client) => client.optOut(OPTED_OUT)],
  ['MAPPER, SHARER or ID_READER', (client) => client.optOutStatus(['unknown']).toArray()],
];

const skipped = (name: string): Check => ({ name, status: 'skipped', detail: 'the service cannot be reached' });

/** What a request of a page is answered with. */
interface PageAnswer {
  readonly response: Response;
  readonly ms: number;
  /** The service's clock minus this one, ms; undefined if it sends no time. */
  readonly offsetMs: number | undefined;
}

// The request of a page that refreshes: no key, no envelope. An empty refresh token is refused with 400.
const askAsPage = async (baseUrl: string, origin: string): Promise<PageAnswer> => {
  const startedAt = Date.now();
  const response = await fetch(`${baseUrl}/v2/token/refresh`, {
    method: 'POST',
    body: '',
    headers: { origin, 'content-type': 'text/plain' },
    redirect: 'manual',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  // Status and headers tell everything, and the body may never end.
  response.body?.cancel().catch(() => {});
  const ms = Date.now() - startedAt;
  const date = Date.parse(response.headers.get('date') ?? '');
  // The header has whole seconds: the middle of its second is compared with the middle of the request.
  return { response, ms, offsetMs: Number.isNaN(date) ? undefined : date + 500 - (startedAt + ms / 2) };
};

const checkReach = ({ response, ms }: PageAnswer): Check => {
  const name = 'service';
  if (response.status === 400)
    return { name, status: 'ok', detail: `${new URL(response.url).origin} answers, in ${ms} ms` };
  return {
    name,
    status: 'failed',
    detail: `POST /v2/token/refresh answered ${response.status}, expected 400 for an empty token`,
    remedy: 'check --base-url: is this the address of an operator, without a path?',
  };
};

const checkClock = ({ offsetMs }: PageAnswer): Check => {
  const name = 'clock';
  if (offsetMs === undefined) return { name, status: 'skipped', detail: 'the service sends no Date header' };
  const seconds = Math.abs(Math.round(offsetMs / 1000));
  if (Math.abs(offsetMs) < MAX_SKEW_MS)
    return { name, status: 'ok', detail: seconds < 2 ? 'agrees with the service' : `${seconds} s off, 60 are allowed` };
  return {
    name,
    status: 'failed',
    detail: `${seconds} s ${offsetMs > 0 ? 'behind' : 'ahead of'} the service`,
    remedy: 'set the clock of this machine; the service refuses requests that are 2 minutes off',
  };
};

const checkCors = ({ response }: PageAnswer, origin: string): Check => {
  const allowed = response.headers.get('access-control-allow-origin');
  if (allowed === origin || allowed === '*')
    return { name: 'cors', status: 'ok', detail: `pages of ${origin} may refresh` };
  return {
    name: 'cors',
    status: 'failed',
    detail: `pages of ${origin} cannot read answers: Access-Control-Allow-Origin is ${allowed ?? 'missing'}`,
    remedy: 'let the service, or the proxy before it, answer with the origin of the page',
  };
};

/** What a request with the time 1970 shows. */
type Verdict = 'permitted' | 'refused' | 'wrong secret' | { readonly fault: string };

const verdictOf = async (call: Promise<unknown>): Promise<Verdict> => {
  try {
    await call;
    return 'permitted';
  } catch (error) {
    if (!isTokenError(error)) throw error;
    if (error.code === 'unauthorized') return 'refused';
    if (error.message.includes('Check encryption key')) return 'wrong secret';
    // The service has accepted key and secret before it refused the time, the content or the rate.
    if (['clock_skew', 'client_error', 'rate_limited'].includes(error.code)) return 'permitted';
    return { fault: error.message };
  }
};

const checkKey = async (connection: Connection, flags: ServiceOptions): Promise<Check[]> => {
  const client = createConnected(connection, flags, { now: () => 0, retry: { tries: 1 }, bulkTimeoutMs: TIMEOUT_MS });
  const verdicts: Verdict[] = [];
  for (const [, call] of CALLS) verdicts.push(await verdictOf(call(client)));
  const unknownSecret: Check = { name: 'secret', status: 'skipped', detail: 'needs a known key' };
  const fault = verdicts.find((verdict) => typeof verdict === 'object');
  if (fault) return [{ name: 'key', status: 'failed', detail: fault.fault }, unknownSecret];
  const roles = CALLS.filter((_, index) => verdicts[index] !== 'refused').map(([role]) => role);
  // The last call tells nothing new if the key has the role MAPPER.
  const shown = roles.includes('MAPPER') ? roles.slice(0, -1) : roles;
  if (roles.length === 0)
    return [
      {
        name: 'key',
        status: 'failed',
        detail: 'the service does not know this API key, or it has no role',
        remedy: 'check TESSERA_API_KEY: each environment and each operator has its own keys',
      },
      unknownSecret,
    ];
  const secret: Check = verdicts.includes('wrong secret')
    ? {
        name: 'secret',
        status: 'failed',
        detail: 'the client secret does not belong to this API key',
        remedy: 'check TESSERA_CLIENT_SECRET: it was issued together with the key',
      }
    : { name: 'secret', status: 'ok', detail: 'belongs to the key' };
  return [{ name: 'key', status: 'ok', detail: `known; roles: ${shown.join(', ')}` }, secret];
};

/**
 * Make all checks.
 *
 * @param origin  the origin of a page, for the check of CORS.
 * @throws {TypeError} a malformed address, key or secret.
 */
export async function diagnose(connection: Connection, flags: ServiceOptions, origin: string): Promise<Check[]> {
  // Checks the form of the three.
  createConnected(connection, flags);
  const baseUrl = connection.baseUrl.replace(/\/+$/, '');
  let answer: PageAnswer;
  try {
    answer = await askAsPage(baseUrl, origin);
  } catch {
    const client = createConnected(connection, flags, { retry: { tries: 1 }, timeoutMs: TIMEOUT_MS });
    // The client says in words why the service cannot be reached.
    const reason = await verdictOf(client.validate('unknown', OPTED_OUT));
    const detail =
      typeof reason === 'object'
        ? reason.fault.replace(/^[^:]*: POST [^:]*: /, '')
        : 'the first request got no answer, the next one did; try again';
    return [{ name: 'service', status: 'failed', detail }, ...['clock', 'key', 'secret', 'cors'].map(skipped)];
  }
  const checks = [checkReach(answer), checkClock(answer)];
  return [...checks, ...(await checkKey(connection, flags)), checkCors(answer, origin)];
}
