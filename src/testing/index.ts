/** `tessera-id/testing`: an operator, a publisher's server and a page in one process, under one virtual clock. */

export type { Span, SpanText, SpanUnit } from './span.ts';
export { createTestbed } from './testbed.ts';
export type { Lifetimes, ReservedUsers, Testbed, TestbedOptions } from './types.ts';
