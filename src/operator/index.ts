/** `tessera-id/operator`: the service, as a function from Request to Response. */
export { createOperator } from './create.ts';
export type { Operator } from './operator.ts';
export type { Logger, OperatorOptions } from './options.ts';
export type { Credentials, GivenCredentials, Role } from './roles.ts';
export type { Environment, Scope } from './secrets.ts';
export type { ExtendedOptOut, OptOutStore, ParticipantStore, State, StoredOptOut, StoredParticipant } from './state.ts';
