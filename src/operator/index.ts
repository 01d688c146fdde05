/** `tessera-id/operator`: the operator service, as a function from Request to Response. */

export type { Administration, AdministrationOptions, KeyGeneration } from './administration/administration.ts';
export type {
  ParticipantAdministration,
  ParticipantChange,
  StoredCredentials,
} from './administration/participant-administration.ts';
export { createOperator, openAdministration } from './create.ts';
export type { Environment, Scope } from './crypto/secrets.ts';
export type { Caller } from './http/caller-limits.ts';
export type { ParticipantStatus } from './identity/participants.ts';
export type { Operator } from './operator.ts';
export type { OperatorOptions, SettingsInForce } from './options/options.ts';
export type { EnvelopeStore } from './ports/envelopes.ts';
export type { Logger } from './ports/logger.ts';
export type { Credentials, GivenCredentials, Role } from './ports/roles.ts';
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
} from './ports/state.ts';
