/**
 * The checks of `tessera doctor`. Key, roles and secret are checked with requests whose time is 1970: a service checks them first
 * and then rejects the time, so no endpoint runs. If one does, it receives a reserved identity or an unknown value.
 */

import type { Client } from '../../server/index.ts';
import { isTokenError, parseHash } from '../../token/index.ts';
import { requiredRoles } from './required-roles.ts';
import { type Connection, createConnected, type ServiceOptions } from './service-options.ts';

export interface Check {
  readonly name: string;
  readonly status: 'ok' | 'failed' | 'skipped';
  readonly detail: string;
  readonly remedy?: string;
}

/** The service rejects requests whose time is two minutes off. */
const MAX_SKEW_MS = 60_000;
const TIMEOUT_MS = 10_000;

const OPTED_OUT = { email: 'optout@example.com' };

/** One request for each role that a request can reveal, with the name of its method. */
const CALLS: readonly (readonly [method: keyof Client, call: (client: Client) => Promise<unknown>])[] = [
  ['validate', (client) => client.validate('unknown', OPTED_OUT)],
  ['mapIdentities', (client) => client.mapIdentities([OPTED_OUT]).toArray()],
  ['optOut', (client) => client.optOut(OPTED_OUT)],
  ['optOutStatus', (client) => client.optOutStatus(['unknown']).toArray()],
];

function skipped(name: string): Check {
  return { name, status: 'skipped', detail: 'the service cannot be reached' };
}

/** The request of a page that refreshes: no key, no envelope. An empty refresh token is rejected with 400. */
async function askAsPage(baseUrl: string, origin: string) {
  const startedAt = Date.now();
  const response = await fetch(`${baseUrl}/v2/token/refresh`, {
    method: 'POST',
    body: '',
    headers: { origin, 'content-type': 'text/plain' },
    redirect: 'manual',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  // Status and headers suffice, and the body may never end.
  response.body?.cancel().catch(() => {});
  const ms = Date.now() - startedAt;
  const date = Date.parse(response.headers.get('date') ?? '');
  // The service's clock minus this one. The header has whole seconds: the middle of its second is that of the request.
  return { response, ms, offsetMs: Number.isNaN(date) ? undefined : date + 500 - (startedAt + ms / 2) };
}

type PageAnswer = Awaited<ReturnType<typeof askAsPage>>;

function checkReach({ response, ms }: PageAnswer): Check {
  const name = 'service';
  if (response.status === 400)
    return { name, status: 'ok', detail: `${new URL(response.url).origin} answers, in ${ms} ms` };
  return {
    name,
    status: 'failed',
    detail: `POST /v2/token/refresh answered ${response.status}, expected 400 for an empty token`,
    remedy: 'check --base-url: is this the address of an operator, without a path?',
  };
}

function checkClock({ offsetMs }: PageAnswer): Check {
  const name = 'clock';
  if (offsetMs === undefined) return { name, status: 'skipped', detail: 'the service sends no Date header' };
  const seconds = Math.abs(Math.round(offsetMs / 1000));
  if (Math.abs(offsetMs) < MAX_SKEW_MS)
    return {
      name,
      status: 'ok',
      detail: seconds < 2 ? 'agrees with the service' : `${seconds} s off; up to 60 s are accepted`,
    };
  return {
    name,
    status: 'failed',
    detail: `${seconds} s ${offsetMs > 0 ? 'behind' : 'ahead of'} the service`,
    remedy: 'set the clock of this machine; the service rejects requests whose time is 2 minutes off',
  };
}

function checkCors({ response }: PageAnswer, origin: string): Check {
  const allowed = response.headers.get('access-control-allow-origin');
  if (allowed === origin || allowed === '*')
    return { name: 'cors', status: 'ok', detail: `pages on ${origin} may refresh` };
  return {
    name: 'cors',
    status: 'failed',
    detail: `pages on ${origin} cannot read answers: Access-Control-Allow-Origin is ${allowed ?? 'missing'}`,
    remedy: 'configure the service, or the proxy in front of it, to send the origin of the page',
  };
}

type Verdict = 'permitted' | 'refused' | 'wrong secret' | { readonly fault: string };

async function verdictOf(call: Promise<unknown>): Promise<Verdict> {
  try {
    await call;
    return 'permitted';
  } catch (error) {
    if (!isTokenError(error)) throw error;
    if (error.code === 'unauthorized') return 'refused';
    if (error.message.includes('Check encryption key')) return 'wrong secret';
    // The service accepted key and secret before it rejected the time, the content or the rate.
    if (['clock_skew', 'client_error', 'rate_limited'].includes(error.code)) return 'permitted';
    return { fault: error.message };
  }
}

async function checkKey(connection: Connection, flags: ServiceOptions): Promise<Check[]> {
  const client = createConnected(connection, flags, { now: () => 0, retry: { tries: 1 }, bulkTimeoutMs: TIMEOUT_MS });
  const verdicts: Verdict[] = [];
  for (const [, call] of CALLS) verdicts.push(await verdictOf(call(client)));
  const unknownSecret: Check = { name: 'secret', status: 'skipped', detail: 'needs a known key' };
  const fault = verdicts.find((verdict) => typeof verdict === 'object');
  if (fault) return [{ name: 'key', status: 'failed', detail: fault.fault }, unknownSecret];
  const roles = CALLS.filter((_, index) => verdicts[index] !== 'refused').map(([method]) => requiredRoles(method));
  // If the key has the role MAPPER, the last call reveals nothing new.
  const shown = roles.includes('MAPPER') ? roles.slice(0, -1) : roles;
  if (roles.length === 0)
    return [
      {
        name: 'key',
        status: 'failed',
        detail: 'the service does not know this API key, or the key has no role',
        remedy: parseHash(connection.apiKey)
          ? 'are TESSERA_API_KEY and TESSERA_CLIENT_SECRET swapped?'
          : 'check TESSERA_API_KEY: each environment and each operator has its own keys',
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
}

/** `origin` is that of a page, for the check of CORS. @throws {TypeError} for a malformed address, key or secret. */
export async function diagnose(connection: Connection, flags: ServiceOptions, origin: string): Promise<Check[]> {
  // This checks the format of address, key and secret.
  createConnected(connection, flags);
  const baseUrl = connection.baseUrl.replace(/\/+$/, '');
  let answer: PageAnswer;
  try {
    answer = await askAsPage(baseUrl, origin);
  } catch {
    const client = createConnected(connection, flags, { retry: { tries: 1 }, timeoutMs: TIMEOUT_MS });
    // The error of the client says why the service cannot be reached.
    const reason = await verdictOf(client.validate('unknown', OPTED_OUT));
    const detail =
      typeof reason === 'object'
        ? reason.fault.replace(/^[^:]*: POST [^:]*: /, '')
        : 'the first request got no answer, but the next one did; try again';
    return [{ name: 'service', status: 'failed', detail }, ...['clock', 'key', 'secret', 'cors'].map(skipped)];
  }
  const checks = [checkReach(answer), checkClock(answer)];
  return [...checks, ...(await checkKey(connection, flags)), checkCors(answer, origin)];
}
