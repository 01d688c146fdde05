/** `tessera-id/operator`: the operator service, as a function from Request to Response. */

export { createOperator, openAdministration } from './create.ts';
export type { Environment, Scope } from './crypto/secrets.ts';
export type { Caller } from './http/caller-limits.ts';
export type { ParticipantStatus } from './identity/participants.ts';
export type { Credentials, GivenCredentials, Role } from './identity/roles.ts';
export type { Operator } from './operator.ts';
export type { Logger } from './options/logger.ts';
export type { OperatorOptions, SettingsInForce } from './options/options.ts';
export type { Administration, AdministrationOptions, KeyGeneration } from './state/administration.ts';
export type { EnvelopeStore } from './state/envelopes.ts';
export type {
  ParticipantAdministration,
  ParticipantChange,
  StoredCredentials,
} from './state/participant-administration.ts';
export type { RateLimit } from './state/rate-limit.ts';
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
