/**
 * The world of the demo: an operator that can be restarted, the faults of the network in front of it, and one clock for operator
 * and pages. It logs every request that reaches it.
 */

import { type Credentials, createOperator, type Operator } from '../src/operator/index.ts';
import { memoryState } from '../src/operator/state/memory-state.ts';
import { choiceFault, integerFault, throwIf } from '../src/token/checks.ts';
import type { VitalsCounts, VitalsReport } from '../src/token/vitals-report.ts';

/** The lifetimes of an operator, s. */
function lifetimesOf({ refreshSeconds: refreshFrom }: Setting) {
  return {
    refreshFrom,
    identityExpires: 3 * refreshFrom,
    refreshExpires: 12 * refreshFrom,
  };
}

/** What happens to a refresh instead of an answer from the operator. */
export const FAULTS = ['none', 'offline', '503', '429', 'hang', 'malformed', 'wrong-key'] as const;
export type Fault = (typeof FAULTS)[number];

const STORAGE = ['works', 'refused', 'full'] as const;

/** The visitor's settings. */
export interface Setting {
  readonly fault: Fault;
  /** Age at which new tokens are refreshed, s. They expire after three times as long. */
  readonly refreshSeconds: number;
  /** How far the clocks of operator and pages are ahead of real time, ms. */
  readonly shiftMs: number;
  /** How far the pages' clock is off, ms. */
  readonly skewMs: number;
  readonly storage: (typeof STORAGE)[number];
}

const INITIAL: Setting = { fault: 'none', refreshSeconds: 10, shiftMs: 0, skewMs: 0, storage: 'works' };

/** Without an answer for so long, the network ends a connection, s. */
const HANG_S = 60;

/** A request that reached the operator's address. */
export interface LoggedRequest {
  readonly id: number;
  /** Epoch ms in the demo's time. */
  readonly at: number;
  readonly from: string;
  readonly path: string;
  /** HTTP status, or what happened instead. */
  readonly status: string;
  readonly ms: number;
}

/** A report of `tessera-vitals.js`. */
export type PageView = VitalsReport | VitalsCounts;

export type WorldEvent =
  | { type: 'setting'; setting: Setting }
  | { type: 'request'; request: LoggedRequest }
  | { type: 'view'; view: PageView };

const KEPT = 100;
const MAX_SHIFT_MS = 400 * 86_400_000;
const MAX_SKEW_MS = 86_400_000;
const RETRY_AFTER_S = 20;

/** Return what is wrong with the value of a setting; undefined if nothing is. */
const FAULT_OF: { readonly [name in keyof Setting]: (value: unknown) => string | undefined } = {
  fault: (value) => choiceFault('fault', FAULTS, value),
  refreshSeconds: (value) => integerFault('refreshSeconds', 1, 86_400, value),
  shiftMs: (value) => integerFault('shiftMs', -MAX_SHIFT_MS, MAX_SHIFT_MS, value),
  skewMs: (value) => integerFault('skewMs', -MAX_SKEW_MS, MAX_SKEW_MS, value),
  storage: (value) => choiceFault('storage', STORAGE, value),
};

/** Check a change of the setting. Throws a TypeError that says what is wrong. Unknown members are dropped. */
export function parseSetting(given: unknown): Partial<Setting> {
  const values = Object(given) as Record<string, unknown>;
  const changes = Object.entries(FAULT_OF).filter(([name]) => values[name] !== undefined);
  for (const [name, faultOf] of changes) throwIf(faultOf(values[name]));
  return Object.fromEntries(changes.map(([name]) => [name, values[name]]));
}

/** Return the sender of a request, from the path of its page: pages of the demo send their full address as the referrer. */
function senderOf(request: Request): string {
  const referrer = request.headers.get('referer');
  if (!referrer) return 'server';
  const { pathname, searchParams } = new URL(referrer);
  return searchParams.get('label')?.replace(/[^\w ]/g, '') ?? (pathname.slice(1) || 'Tab 1');
}

/**
 * Create the world, with one participant whose credentials outlive every restart.
 *
 * @param speed  how fast its clock runs: with 60, a second of real time is a minute for operator and pages, in whose timers the same
 *               holds. New tokens are refreshed after ten seconds of real time all the same. Default: 1.
 */
export function createWorld({ speed = 1 }: { readonly speed?: number } = {}) {
  const initial = { ...INITIAL, refreshSeconds: INITIAL.refreshSeconds * speed };
  const startedAt = Date.now();
  let setting: Setting = initial;
  let rootSecret = crypto.getRandomValues(new Uint8Array(32));
  let state = memoryState();
  const now = () => startedAt + (Date.now() - startedAt) * speed + setting.shiftMs;
  const { participants } = createOperator({ rootSecret, roles: ['GENERATOR', 'MAPPER', 'OPTOUT'] });
  const credentials: Credentials = participants[0]!;
  const start = (): Operator =>
    createOperator({ ...lifetimesOf(setting), participants: [credentials], rootSecret, state, now });
  let operator = start();
  const listeners = new Set<(event: WorldEvent) => void>();
  const log: LoggedRequest[] = [];
  const views: PageView[] = [];
  let lastId = 0;
  const emit = (event: WorldEvent) => {
    for (const listener of listeners) listener(event);
  };

  const change = (changes: Partial<Setting>) => {
    const { refreshSeconds } = setting;
    setting = { ...setting, ...changes };
    if (setting.refreshSeconds !== refreshSeconds) operator = start();
    emit({ type: 'setting', setting });
  };
  const restart = () => {
    rootSecret = crypto.getRandomValues(new Uint8Array(32));
    state = memoryState();
    operator = start();
  };
  const record = (request: Omit<LoggedRequest, 'id'>) => {
    const logged = { id: ++lastId, ...request };
    log.push(logged);
    if (log.length > KEPT) log.shift();
    emit({ type: 'request', request: logged });
  };
  const addView = (view: PageView) => {
    views.push(view);
    if (views.length > KEPT) views.shift();
    emit({ type: 'view', view });
  };

  /** Answer a request at the operator's address. `cut` ends the connection without an answer. */
  const fetch = async (request: Request, cut: () => void): Promise<Response> => {
    const startedAt = performance.now();
    const at = now();
    const { pathname: path } = new URL(request.url);
    const { fault } = setting;
    const isRefresh = path === '/v2/token/refresh' && request.method === 'POST';
    const response =
      isRefresh && fault !== 'none'
        ? await faulty(fault, request, cut, (HANG_S * 1000) / speed)
        : await operator.fetch(request);
    const status = isRefresh && (fault === 'offline' || fault === 'hang') ? fault : `${response.status}`;
    if (request.method !== 'OPTIONS' && path !== '/metrics')
      record({ at, from: senderOf(request), path, status, ms: Math.round(performance.now() - startedAt) });
    return response;
  };

  return {
    credentials,
    now,
    fetch,
    change,
    restart,
    startOver: () => {
      restart();
      log.length = 0;
      views.length = 0;
      change(initial);
    },
    setting: () => setting,
    /** How the clock of the pages runs, besides the setting. */
    clock: { speed, startedAt },
    log: (): readonly LoggedRequest[] => log,
    views: (): readonly PageView[] => views,
    addView,
    /** Listen for changes of the setting, requests and page views; returns the unsubscribe function. */
    on: (listener: (event: WorldEvent) => void) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

export type World = ReturnType<typeof createWorld>;

/** Create an answer that a page on another origin may read. */
function readable(request: Request, body: string | null, status: number, headers: Record<string, string> = {}) {
  return new Response(body, {
    status,
    headers: {
      'access-control-allow-origin': request.headers.get('origin') ?? '*',
      'access-control-expose-headers': 'Date, Retry-After',
      'content-type': 'text/plain',
      ...headers,
    },
  });
}

async function faulty(fault: Fault, request: Request, cut: () => void, hangMs: number): Promise<Response> {
  if (fault === '503') return readable(request, '', 503);
  if (fault === '429') return readable(request, '', 429, { 'retry-after': String(RETRY_AFTER_S) });
  if (fault === 'malformed') return readable(request, '<html>A captive portal</html>', 200);
  if (fault === 'wrong-key') {
    // As long as a real answer, but not one that the page's key opens.
    const bytes = crypto.getRandomValues(new Uint8Array(900));
    return readable(request, btoa(String.fromCharCode(...bytes)), 200);
  }
  if (fault === 'hang')
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, hangMs);
      request.signal.addEventListener('abort', () => {
        clearTimeout(timer);
        resolve();
      });
    });
  cut();
  return readable(request, '', 503);
}
