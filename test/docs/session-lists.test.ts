/** The tables of the documentation that list events, reasons, phases and options have a row for each that the types declare. */

import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { root } from '../../build/dist.ts';
import type { EventName, NextReason, Phase, SessionOptions } from '../../src/session/index.ts';

/** The compiler checks that these are complete. */
const EVENTS = { token: 1, expired: 1, optout: 1, needsTokens: 1, error: 1 } satisfies Record<EventName, 1>;
const PHASES = { empty: 1, fresh: 1, due: 1, stale: 1, ended: 1, optedOut: 1 } satisfies Record<Phase, 1>;
const REASONS = {
  refresh_from: 1,
  expires: 1,
  in_progress: 1,
  other_tab: 1,
  back_off: 1,
  retry_after: 1,
  refused: 1,
  woken: 1,
  hidden: 1,
  consent: 1,
  storage: 1,
  host: 1,
} satisfies Record<NextReason, 1>;
const OPTIONS = {
  baseUrl: 1,
  name: 1,
  tokens: 1,
  user: 1,
  provide: 1,
  consent: 1,
  refresh: 1,
  fetch: 1,
  store: 1,
  now: 1,
  timeoutMs: 1,
  retry: 1,
  logger: 1,
  debug: 1,
  allowInsecure: 1,
} satisfies Record<keyof SessionOptions, 1>;

test.each<[what: string, names: object, column: string, page: string]>([
  ['event', EVENTS, 'event', 'docs/concepts/events.md'],
  ['phase', PHASES, 'phase', 'docs/concepts/phases.md'],
  ['reason of `state.next`', REASONS, 'reason', 'docs/session-reference.md'],
  ['option of a session', OPTIONS, 'option', 'docs/session-reference.md'],
])('each %s has a row in the documentation', async (_, names, column, page) => {
  const text = await readFile(root + page, 'utf8');
  const tables = [...text.matchAll(new RegExp(`^\\| ${column} \\|.*\\n((?:\\|.*\\n)+)`, 'gm'))];
  const cells = tables.flatMap(([, body]) => body!.match(/^\|[^|]*/gm)!);
  const rows = cells.flatMap((cell) => cell.match(/\w+/g) ?? []);
  expect([...new Set(rows)].sort()).toEqual(Object.keys(names).sort());
});
