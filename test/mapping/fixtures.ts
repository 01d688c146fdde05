/** An operator with a controllable clock, a client that records its requests, and stored mappings. */

import { onTestFinished } from 'vitest';
import {
  createMappings,
  type Mapping,
  type MappingClient,
  type Mappings,
  type MappingsOptions,
} from '../../src/mapping/index.ts';
import { createOperator, type OperatorOptions } from '../../src/operator/index.ts';
import { type Client, createClient, type Dii } from '../../src/server/index.ts';
import { freshPlace, type Kind } from '../database/locations.ts';
import { BASE, DAY, NOON, ROOT } from '../operator/fixtures.ts';

/** The operator's default rotation period: a year, seconds. */
export const PERIOD = 31_536_000;

export const people = (count: number, from = 0): Dii[] =>
  Array.from({ length: count }, (_, i) => ({ email: `person-${from + i}@example.com` }));

export interface Asked {
  /** The hashes sent for mapping, with repetitions. */
  readonly hashes: string[];
  /** The `since` of each bucket request. */
  readonly since: number[];
}

export const recording = (client: Client): { readonly client: Client; readonly asked: Asked } => {
  const asked: Asked = { hashes: [], since: [] };
  const noted = <D extends Dii>(diis: readonly D[]): readonly D[] => {
    for (const dii of diis) asked.hashes.push((dii.emailHash ?? dii.phoneHash)!);
    return diis;
  };
  return {
    asked,
    client: {
      ...client,
      mapIdentities: (diis, options) => client.mapIdentities(noted(diis as never), options),
      mapIdentitiesV2: (diis, options) => client.mapIdentitiesV2(noted(diis as never), options),
      rotatedBuckets: (since, options) => {
        asked.since.push(Number(since));
        return client.rotatedBuckets(since, options);
      },
    },
  };
};

/**
 * Wrap `client`: `method` resolves `isAnswered` when the service has answered, and passes the answer on at `release`, or when it is
 * cancelled.
 */
export const withHeldAnswer = (client: Client, method: 'mapIdentities' | 'mapIdentitiesV2') => {
  let answered = () => {};
  const isAnswered = new Promise<void>((resolve) => (answered = resolve));
  let release = () => {};
  const isReleased = new Promise<void>((resolve) => (release = resolve));
  const held = (diis: readonly Dii[], options: { readonly signal?: AbortSignal }) => ({
    batches: async function* () {
      const results = await client[method](diis, options).toArray();
      answered();
      options.signal?.addEventListener('abort', release);
      await isReleased;
      yield results;
    },
  });
  return { client: { ...client, [method]: held } as unknown as Client, isAnswered, release };
};

export interface Service {
  at: number;
  /** How far the participant's clock is ahead of the operator's, ms. */
  aheadMs: number;
  readonly client: Client;
  readonly asked: Asked;
  now(): number;
  /** While set, answers in place of the operator. */
  fault: ((request: Request) => Promise<Response | undefined> | Response | undefined) | undefined;
  open(database: MappingsOptions['database'], options?: Partial<MappingsOptions>): Promise<Mappings>;
}

export const service = (options: OperatorOptions = {}): Service => {
  const clock = { at: NOON };
  const operator = createOperator({
    now: () => clock.at,
    rootSecret: ROOT,
    rotationPeriod: PERIOD,
    roles: ['MAPPER', 'OPTOUT'],
    ...options,
  });
  const { apiKey, clientSecret } = operator.participants[0]!;
  const { client, asked } = recording(
    createClient({
      baseUrl: BASE.replace('http:', 'https:'),
      apiKey,
      clientSecret,
      retry: { tries: 1 },
      fetch: async (url, init) => {
        const request = new Request(url, init);
        return (await state.fault?.(request)) ?? operator.fetch(request);
      },
      now: () => state.now(),
    }),
  );
  const state: Service = {
    get at() {
      return clock.at;
    },
    set at(at) {
      clock.at = at;
    },
    aheadMs: 0,
    fault: undefined,
    client,
    asked,
    now: () => clock.at + state.aheadMs,
    open: async (database, options) => {
      const mappings = await createMappings({ client, database, now: () => state.now(), ...options });
      onTestFinished(() => mappings.close());
      return mappings;
    },
  };
  return state;
};

/** Mappings in a new database, with their own service. */
export const fixture = async (kind: Kind, options: Partial<MappingsOptions> = {}) => {
  const its = service();
  const place = await freshPlace(kind);
  return { service: its, place, mappings: await its.open(place, options) };
};

export const stored = async (mappings: Mappings): Promise<Mapping[]> => {
  const all: Mapping[] = [];
  for await (const mapping of mappings.entries()) all.push(mapping);
  return all;
};

/** The number of requests for the most requested hash; 0 for none. */
export const maxRequests = ({ hashes }: Asked): number => {
  const times = new Map<string, number>();
  for (const hash of hashes) times.set(hash, (times.get(hash) ?? 0) + 1);
  return Math.max(0, ...times.values());
};

export type { MappingClient };
export { DAY, NOON };
