/**
 * The network between the pages of a profile and the operator: it injects faults and records every refresh request. It does
 * not decide whether a request is allowed: the observer does.
 */

import type { Attempt } from './attempts.ts';
import type { Setup } from './invariants.ts';
import type { Random } from './random.ts';
import type { Issued, Service } from './service.ts';
import type { Owner, Time } from './time.ts';

/** Temporary failures of network or service. */
export const OUTAGES = ['offline', 'hangs', 'bodyHangs', 'lost', '408', '425', '429', '429 s', '500', '503'] as const;
/** Answers at fault, by the service or by something in its place. */
export const REFUSALS = ['html', 'garbage', 'tampered', 'sealed nonsense', '401', '404', '418'] as const;
/** Answers that end the refresh token. */
export const ENDINGS = ['invalid', 'expired'] as const;
export const NET_FAULTS = ['none', 'slow', ...OUTAGES, ...REFUSALS, ...ENDINGS] as const;
export type NetFault = (typeof NET_FAULTS)[number];

export const isOutage = (fault: NetFault): boolean => (OUTAGES as readonly NetFault[]).includes(fault);
export const isRefusal = (fault: NetFault): boolean => (REFUSALS as readonly NetFault[]).includes(fault);

/** A refresh request of a page. */
export interface Call {
  readonly owner: Owner;
  readonly token: string;
  /** The set whose refresh token was sent; undefined if it was never issued. */
  readonly sent: Issued | undefined;
  /** When it was sent, by the true time, epoch ms. */
  readonly at: number;
  readonly seq: number;
  attempt?: Attempt;
  fault: NetFault;
  /** The answer of the service, once there is one. */
  said?: 'optout' | 'ended' | Issued | undefined;
  /** When the page received the whole answer. */
  deliveredAt?: number | undefined;
  /** Whether the page has the answer, has given up, or is gone. */
  isOver: boolean;
}

/** Seconds in the Retry-After of a 429. */
export const RETRY_AFTER_S = 90;

/** Contents of sealed answers that are neither a set nor an opt-out. */
const NONSENSE = [
  '',
  'null',
  '7',
  '[]',
  '{"status":"success"}',
  '{"status":"success","body":{"advertising_token":7}}',
  '{"status":"expired_token"}',
  '{"status":"optOut"}',
];

export const createNetwork = (
  time: Time,
  random: Random,
  service: Service,
  next: () => number,
  { isDateReadable, dateErrorMs }: Setup,
  observer: { onSend(call: Call): void; onDelivered(call: Call): void; onAbort(call: Call): void },
) => {
  let fault: NetFault = 'none';
  const calls: Call[] = [];
  const pending = new Map<Call, (error: unknown) => void>();

  /** What the service, or a cache before it, takes for the time. */
  const dateMs = () => time.nowMs + (isDateReadable ? dateErrorMs : 0);

  const tamper = (text: string) => {
    const at = random.integer(20, text.length - 20);
    return text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1);
  };

  /** Build the answer to a request. */
  const answer = async (call: Call): Promise<{ status: number; headers: Record<string, string>; text: string }> => {
    const { fault: why } = call;
    const plain = (status: number, body: object | string = '', headers: Record<string, string> = {}) => ({
      status,
      headers,
      text: typeof body === 'string' ? body : JSON.stringify(body),
    });
    const status = Number.parseInt(why, 10);
    if (why === '429 s') return plain(429, '', { 'retry-after': `${RETRY_AFTER_S}` });
    if (status) return plain(status, status < 500 ? { status: 'client_error', message: 'no' } : 'out of order');
    if (why === 'html') return plain(200, '<!doctype html><title>Sign in to the network</title>');
    if (why === 'garbage') return plain(200, 'AAAA');
    if (why === 'sealed nonsense') return plain(200, await service.seal(call.token, random.pick(NONSENSE)));
    if (why === 'invalid' || why === 'expired') {
      call.said = 'ended';
      return plain(400, { status: `${why}_token`, message: 'no' });
    }
    const { status: real, text, said } = await service.refresh(call.token, call.seq);
    if (why === 'tampered') return plain(real, tamper(text));
    call.said = said ?? (real === 400 ? 'ended' : undefined);
    return plain(real, text);
  };

  return {
    calls,
    get fault() {
      return fault;
    },
    setFault: (to: NetFault) => {
      fault = to;
    },
    /** Requests that pages wait for. */
    pending: () => [...pending.keys()],
    /** Fail the pending requests, as when the device sleeps. */
    cut: () => {
      for (const [call, fail] of [...pending])
        time.after(random.integer(0, 50), () => fail(new TypeError('network suspended')), call.owner);
    },
    drop: (owner: Owner) => {
      for (const call of [...pending.keys()])
        if (call.owner === owner) {
          call.isOver = true;
          pending.delete(call);
        }
    },
    /** The `fetch` of one page. */
    of:
      (owner: Owner) =>
      (_url: unknown, init: { body?: unknown; signal?: AbortSignal } = {}): Promise<unknown> =>
        new Promise((resolve, reject) => {
          const token = String(init.body);
          const call: Call = {
            owner,
            token,
            sent: service.find(token),
            at: time.nowMs,
            seq: next(),
            fault,
            isOver: false,
          };
          const end = () => {
            call.isOver = true;
            pending.delete(call);
          };
          let failBody = (_: unknown) => {};
          const fail = (error: unknown) => {
            if (call.isOver) return;
            end();
            reject(error);
            failBody(error);
          };
          const { signal } = init;
          if (signal?.aborted) {
            reject(signal.reason);
            return;
          }
          calls.push(call);
          pending.set(call, fail);
          observer.onSend(call);
          signal?.addEventListener('abort', () => {
            if (!call.isOver) observer.onAbort(call);
            fail(signal.reason);
          });

          const arrive = async () => {
            if (owner.isGone) return;
            call.fault = fault;
            if (fault === 'hangs') return;
            if (fault === 'offline') {
              time.after(0, () => fail(new TypeError('Failed to fetch')), owner);
              return;
            }
            const { status, headers, text } = await answer(call);
            if (fault === 'lost') {
              time.after(0, () => fail(new TypeError('Failed to fetch')), owner);
              return;
            }
            if (isDateReadable) headers['date'] = new Date(dateMs()).toUTCString();
            const body = () =>
              new Promise<string>((done, failed) => {
                failBody = failed;
                if (call.fault === 'bodyHangs' || call.isOver) return;
                const bring = () => {
                  if (call.isOver) return;
                  end();
                  call.deliveredAt = time.nowMs;
                  observer.onDelivered(call);
                  done(text);
                };
                time.after(random.integer(0, 20), bring, owner);
              });
            const response = {
              status,
              ok: status >= 200 && status < 300,
              redirected: false,
              type: 'cors',
              headers: { get: (name: string) => headers[name.toLowerCase()] ?? null },
              text: body,
              json: async () => JSON.parse(await body()) as unknown,
            };
            const travelMs = call.fault === 'slow' ? random.integer(3000, 6000) : random.integer(5, 150);
            time.after(travelMs, () => !call.isOver && resolve(response), owner);
          };
          // The request leaves the device even if the page is gone by then.
          time.after(random.integer(2, 80), () => void time.outside(arrive()));
        }),
  };
};
export type Network = ReturnType<typeof createNetwork>;
