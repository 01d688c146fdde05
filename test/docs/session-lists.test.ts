/**
 * The tables that list events, reasons, phases, options and the token set have a row for each that the types declare. The hosts in
 * other languages know each member of a token set.
 */

import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { root } from '../../build/dist.ts';
import type { EventName, NextReason, Phase, SessionOptions, WireTokenSet } from '../../src/session/index.ts';

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
const TOKEN_SET = {
  advertising_token: 1,
  refresh_token: 1,
  refresh_response_key: 1,
  refresh_from: 1,
  identity_expires: 1,
  refresh_expires: 1,
} satisfies Record<keyof WireTokenSet, 1>;

test.each<[what: string, column: string, page: string, names: object]>([
  ['event', 'event', 'docs/session-reference.md', EVENTS],
  ['phase', 'phase', 'docs/session-reference.md', PHASES],
  ['reason of `state.next`', 'reason', 'docs/session-reference.md', REASONS],
  ['option of a session', 'option', 'docs/session-reference.md', OPTIONS],
  ['member of a token set', 'member', 'docs/protocol.md', TOKEN_SET],
  ['member of a token set', 'wire name', 'src/token/token-set.ts', TOKEN_SET],
])('each %s has a row: column "%s" in %s', async (_, column, page, names) => {
  const text = (await readFile(root + page, 'utf8')).replace(/^ \* /gm, '');
  const tables = [...text.matchAll(new RegExp(`^\\| ${column} \\|.*\\n((?:\\|.*\\n)+)`, 'gm'))];
  const cells = tables.flatMap(([, body]) => body!.match(/^\|[^|]*/gm)!);
  const rows = cells.flatMap((cell) => cell.match(/\w+/g) ?? []);
  expect([...new Set(rows)].sort()).toEqual(Object.keys(names).sort());
});

test.each(['hosts/android/src/main/kotlin/id/tessera/host/State.kt', 'hosts/ios/Sources/TesseraHost/State.swift'])(
  '%s names each member of a token set',
  async (file) => {
    const named = (await readFile(root + file, 'utf8')).match(/\b[a-z]+(_[a-z]+)+\b/g);
    expect([...new Set(named)].sort()).toEqual(Object.keys(TOKEN_SET).sort());
  },
);
