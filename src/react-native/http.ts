/** One request for a newer set. The machine ends it after 60 s, and reads nothing that arrives later. */

import { openRefresh } from '../token/envelope.ts';
import { parseAnswer, type TokenSet } from '../token/token-set.ts';
import type { Outcome } from './state.ts';

/** The longest answer that is read, characters. One with a token set has about 1,200. */
const MAX_LENGTH = 65_536;
/** Statuses of HTTP that may be another when the request is repeated. */
const PASSING = [408, 425, 429];

interface Answer {
  readonly status: number;
  readonly text: string;
  header(name: string): string | null;
}

async function byFetch(url: string, body: string, controller: AbortController): Promise<Answer> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'text/plain' },
    body,
    credentials: 'omit',
    // It would send the refresh token to another server.
    redirect: 'error',
    referrerPolicy: 'no-referrer',
    signal: controller.signal,
  });
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let text = '';
  while (reader) {
    const { done, value } = await reader.read();
    if (done) break;
    text += decoder.decode(value, { stream: true });
    if (text.length > MAX_LENGTH) {
      controller.abort();
      throw new Error('the answer is too long');
    }
  }
  return { status: response.status, text, header: (name) => response.headers.get(name) };
}

/** React Native's `fetch` gives an answer only as a whole; its XMLHttpRequest tells how much has arrived. */
function byXhr(url: string, body: string, { signal }: AbortController): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const fail = (why: string) => () => reject(new Error(why));
    signal.addEventListener('abort', () => request.abort());
    request.open('POST', url);
    request.withCredentials = false;
    request.setRequestHeader('content-type', 'text/plain');
    request.onprogress = ({ loaded }) => {
      if (loaded <= MAX_LENGTH) return;
      fail('the answer is too long')();
      request.abort();
    };
    request.onload = () => {
      const { status, responseText: text } = request;
      if (text.length > MAX_LENGTH) fail('the answer is too long')();
      else resolve({ status, text, header: (name) => request.getResponseHeader(name) });
    };
    request.onerror = fail('network');
    request.onabort = fail('aborted');
    request.send(body);
  });
}

async function outcomeOf({ status, text }: Answer, keyB64: string): Promise<Outcome> {
  if (status === 200) {
    const set = await openRefresh(text, keyB64).then((json) => parseAnswer(JSON.parse(json)));
    return set === 'optout' ? { kind: 'optout', why: '' } : { kind: 'success', why: '', set };
  }
  const isEnded = status >= 300 && status < 500 && /"status"\s*:\s*"(expired|invalid)_token"/.test(text);
  const isRefused = status >= 400 && status < 500 && !PASSING.includes(status);
  return { kind: isEnded ? 'ended' : isRefused ? 'refused' : 'failed', why: `HTTP ${status}` };
}

/** @param signal  of the controller ends the request. Never rejects. */
export async function requestRefresh(baseUrl: string, set: TokenSet, controller: AbortController): Promise<Outcome> {
  const url = `${baseUrl}/v2/token/refresh`;
  const isReactNative = globalThis.navigator?.product === 'ReactNative';
  let answer: Answer | undefined;
  let outcome: Outcome;
  try {
    answer = await (isReactNative ? byXhr : byFetch)(url, set.refreshToken, controller);
    outcome = await outcomeOf(answer, set.responseKeyB64);
  } catch (error) {
    // An answer that cannot be read is not better at once.
    outcome = { kind: answer ? 'refused' : 'failed', why: `${(error as Error)?.name}` };
  }
  const date = Date.parse(answer?.header('date') ?? '') || undefined;
  return { ...outcome, date, retryAfterMs: Number(answer?.header('retry-after')) * 1000 || 0 };
}
