/** `tessera-id/mapping`: stores the raw IDs of an advertiser's or data provider's users, and keeps them up to date. */

export type { Database, Queries, Row, Subscription, Value } from '../database/index.ts';
export { createMappings } from './mappings.ts';
export type {
  Counts,
  DueOptions,
  Invalid,
  MapOptions,
  Mapping,
  MappingClient,
  MappingState,
  Mappings,
  MappingsOptions,
  Progress,
  Summary,
} from './types.ts';
