/** `tessera-id/mapping`: raw IDs of an advertiser's or data provider's users, stored, kept up to date, taken away. */
export type { Database } from '../database/contract.ts';
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
} from './contract.ts';
export { createMappings } from './mappings.ts';
