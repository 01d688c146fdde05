/** `tessera-id/token`: token sets, phases, envelopes, DII. Pure: no I/O, no clock, no DOM. */
export * from './bytes.ts';
export * from './cipher.ts';
export * from './dii.ts';
export * from './envelope.ts';
export * from './errors.ts';
export * from './phase.ts';
export * from './token-set.ts';
