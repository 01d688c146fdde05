/**
 * How long to wait after a failure: back-off after outages, few and far-apart tries after refusals. Pure.
 *
 * The hub keeps the counts.
 */

import type { TokenError } from '../token/errors.ts';
import type { Settings } from './options.ts';

/** Spacing of tries after the service, or its answer, was at fault; after the last of them a new set is needed. */
const SPACED_MS = [30_000, 120_000, 600_000];

/** Whether a failure is the fault of the service or its answer, so that tries are few and far apart; else it will pass. */
export const isRefusal = ({ status = 500 }: TokenError): boolean => status < 500 && ![408, 425, 429].includes(status);

/** The pause after refusal number `refusals`, from 0 on. */
export const spacedMs = (refusals: number): number => SPACED_MS[refusals] ?? 0;

/** The service has refused a set as often as it may. */
export const isSpent = (refusals: number): boolean => refusals > SPACED_MS.length;

/** The pause after an outage: a random part of a span that doubles with each try, so that pages do not come back all at once. */
export const backOffMs = ({ firstMs, maxMs }: Settings, tries: number): number =>
  Math.random() * Math.min(maxMs, firstMs * 2 ** tries);
