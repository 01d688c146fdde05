/** `tessera-id/operator`: the operator service, as a function from Request to Response. */
export type { Administration, AdministrationOptions, KeyGeneration } from './administration.ts';
export { createOperator, openAdministration } from './create.ts';
export type { Environment, Scope } from './crypto/secrets.ts';
export type { Caller } from './http/caller-limits.ts';
export type { Credentials, GivenCredentials, Role } from './identity/roles.ts';
export type { Operator } from './operator.ts';
export type { Logger, OperatorOptions } from './options.ts';
export type {
  ExtendedOptOut,
  KeyStore,
  ListedParticipant,
  OptOutStore,
  ParticipantStore,
  State,
  StoredGeneration,
  StoredOptOut,
  StoredParticipant,
} from './state/state.ts';
