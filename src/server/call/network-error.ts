/** Explains why a request got no answer. The address is no secret: `parseBaseUrl` has rejected one with a user or password. */

import { TokenError } from '../../token/errors.ts';
import { requestName } from './paths.ts';

const CONNECT = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT', 'UND_ERR_CONNECT_TIMEOUT']);
const NAMES = new Set(['ENOTFOUND', 'EAI_AGAIN']);
const BROKEN = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);
const CERTIFICATE = /^(CERT_|ERR_TLS_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/;
/** The certificate authority is not known to Node. */
const UNKNOWN_AUTHORITY = /^(DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/;
/** The server does not speak TLS. */
const NO_TLS = /^(ERR_SSL_|EPROTO$)/;
/** The answer is not HTTP, or its body is not compressed as its header says. */
const MALFORMED = /^(HPE_|UND_ERR_HEADERS_OVERFLOW$|Z_)/;

/**
 * Node's `fetch` throws "fetch failed", and its cause has a code, or the message "bad port" for a port that the Fetch standard
 * forbids. If a proxy refuses a tunnel, the cause of the cause has a message with the status; after a 407 without a tunnel, the
 * cause has neither code nor message.
 */
function codeOf(error: unknown): string | undefined {
  const cause = (error as { cause?: { code?: unknown; message?: unknown; cause?: unknown } } | undefined)?.cause;
  const { message = cause?.message } = Object(cause?.cause);
  const [, status] = /^Proxy response \((\d{3})\)/.exec(`${message}`) ?? [];
  if (status !== undefined || (cause?.message === '' && cause.code === undefined)) return status ?? '407';
  if (typeof cause?.code === 'string' && /^[A-Z][A-Z0-9_]+$/.test(cause.code)) return cause.code;
  return cause?.message === 'bad port' ? 'bad port' : undefined;
}

/** Node's `fetch` uses a proxy of the environment only if it is told to; other tools use it at once. */
function proxyRemedy(): string {
  // On other platforms there is no `process`.
  const { process } = globalThis as { process?: { env: Record<string, string | undefined> } };
  const { HTTPS_PROXY, https_proxy = HTTPS_PROXY, NODE_USE_ENV_PROXY } = process?.env ?? {};
  return https_proxy && NODE_USE_ENV_PROXY !== '1'
    ? ' HTTPS_PROXY is set, but fetch does not use it: with Node 24 or newer, set NODE_USE_ENV_PROXY=1; otherwise pass a fetch that does'
    : '';
}

function describe(host: string, code: string | undefined): string {
  if (code === undefined) return `got no answer from ${host} (a network failure)`;
  if (code === 'bad port')
    return `could not connect to ${host} (bad port): fetch blocks this port, because another protocol uses it; run the operator on another port`;
  if (code === '407') return `got no answer from ${host}: a proxy requires a user name and a password (407)`;
  if (/^\d/.test(code)) return `got no answer from ${host}: a proxy refuses the connection (${code})`;
  if (CONNECT.has(code)) return `could not connect to ${host} (${code}); is the operator running?${proxyRemedy()}`;
  if (NAMES.has(code))
    return `could not resolve the host name of ${host} (${code}); is the address correct?${proxyRemedy()}`;
  if (BROKEN.has(code)) return `the connection to ${host} ended before the answer (${code})`;
  if (UNKNOWN_AUTHORITY.test(code))
    return `could not trust the certificate of ${host} (${code}): for an authority of your own, start Node with NODE_EXTRA_CA_CERTS=FILE`;
  if (CERTIFICATE.test(code)) return `could not trust the certificate of ${host} (${code})`;
  if (NO_TLS.test(code)) return `could not agree on TLS with ${host} (${code}); does it expect http?`;
  if (MALFORMED.test(code)) return `got a malformed answer from ${host} (${code}); is it the address of an operator?`;
  return `got no answer from ${host} (${code})`;
}

/** The message contains only scheme, host and port of `baseUrl`. */
export function networkError(path: string, baseUrl: string, cause: unknown): TokenError {
  const { origin } = new URL(baseUrl);
  return new TokenError('network', `${requestName(path)}: ${describe(origin, codeOf(cause))}`, { cause });
}
