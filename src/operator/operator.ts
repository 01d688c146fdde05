/** The operator object, on any host with Request and Response: starts the service in the background, and answers once it runs. */

import type { Caller } from './http/caller-limits.ts';
import { corsHeaders } from './http/cors.ts';
import { unavailable } from './http/response.ts';
import { createMetricsHandler, createRequestHandler } from './http/router.ts';
import type { ParticipantStatus } from './identity/participants.ts';
import type { OperatorSettings, SettingsInForce } from './options/options.ts';
import { reasonOf } from './ports/logger.ts';
import type { Credentials } from './ports/roles.ts';
import { settledWithin } from './ports/settled-within.ts';
import { deriveSecrets, type OpenDatabase, startOperator } from './service.ts';

/**
 * An operator. Reading `statuses` before `ready` has resolved throws a TypeError. So does reading `participants`, `generated`
 * and `fingerprint` if the root secret comes from the database.
 */
export interface Operator {
  /** Resolves when the state is open; rejects with a `TokenError` if it cannot be opened. May be ignored. */
  readonly ready: Promise<void>;
  /**
   * Answer a request, after `ready`. Never rejects. Answers 503 if the state cannot be opened, or not within 30 s.
   *
   * @param caller  `listen` passes it: the `address` for `anonymousRateLimit`, and `sentWithin`, until which no other long bucket
   *   list is generated.
   */
  fetch(request: Request, caller?: Caller): Promise<Response>;
  /** Answers only `GET /metrics`, for a separate port: `await listen(operator.metrics, { port: 9464 })`. */
  readonly metrics: { fetch(request: Request): Promise<Response> };
  /** Complete credentials of the participants in the options. Secret. */
  readonly participants: readonly Credentials[];
  /** Those of `participants` whose API key or client secret the operator generated because the options omit it. Secret. */
  readonly generated: readonly Credentials[];
  /** The stored status of each of `participants`, in their order. The credentials of one that is `kept` were issued earlier. */
  readonly statuses: readonly ParticipantStatus[];
  /** The current settings that are not secret. */
  readonly settings: SettingsInForce;
  /** 16 hexadecimal digits that identify the root secret without revealing it. */
  readonly fingerprint: string;
  /** True if the options specify neither database nor state. Opt-outs and participants are then lost when the process ends. */
  readonly inMemory: boolean;
  /** Release the state. Requests in progress should be finished first. Returns the same promise for every call. */
  close(): Promise<void>;
}

/** How long a request waits for the start, ms, because migrating a large table takes longer than callers wait. */
const MAX_START_WAIT_MS = 30_000;

/** With CORS headers, because pages could not read the status otherwise. */
function notStarted(request: Request, caller: Caller = {}): Response {
  return unavailable(
    { request, caller, headers: { ...corsHeaders(request), 'cache-control': 'no-store' }, status: '' },
    'The operator has not started',
  );
}

function required<T>(value: T | undefined): T {
  if (value === undefined) throw new TypeError('operator: this cannot be read before `ready` has resolved');
  return value;
}

export function operatorFrom(settings: OperatorSettings, openDatabase: OpenDatabase): Operator {
  const known = settings.root && deriveSecrets(settings, settings.root);
  const started = startOperator(settings, openDatabase).then((operator) => ({
    ...operator,
    handle: createRequestHandler(operator.service),
    handleMetrics: createMetricsHandler(operator.service.metrics.text),
  }));
  let running: Awaited<typeof started> | undefined;
  let closing: Promise<void> | undefined;
  const ready = started.then((operator) => {
    running = operator;
  });
  ready.catch((error: unknown) => {
    settings.logger?.error(reasonOf(error), 'the operator cannot start');
  });

  const derived = () => required(running?.derived ?? known);
  const { environment, scope, identityExpiresMs, refreshFromMs, refreshExpiresMs, rotationPeriod } = settings;
  return {
    ready,
    fetch: async (request, caller = {}) => {
      if (!running) await settledWithin(ready, MAX_START_WAIT_MS);
      return running ? running.handle(request, caller) : notStarted(request, caller);
    },
    metrics: {
      fetch: async (request) => {
        if (!running) await settledWithin(ready, MAX_START_WAIT_MS);
        return running ? running.handleMetrics(request) : notStarted(request);
      },
    },
    get participants() {
      return derived().credentials;
    },
    get generated() {
      return derived().credentials.filter((_, index) => {
        const { apiKey, clientSecret } = settings.participants[index]!;
        return apiKey === undefined || clientSecret === undefined;
      });
    },
    get statuses() {
      return required(running?.statuses);
    },
    settings: { environment, scope, identityExpiresMs, refreshFromMs, refreshExpiresMs, rotationPeriod },
    get fingerprint() {
      return derived().secrets.fingerprint;
    },
    inMemory: settings.state === undefined && settings.database === undefined,
    close: () =>
      (closing ??= started.then(
        ({ service }) => service.state.close(),
        () => {},
      )),
  };
}
