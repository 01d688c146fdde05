/** The command `inspect`: describes a token set in words. It needs no service, and prints no token and no key. */

import { Command } from 'commander';
import { phaseOf, type TokenSet } from '../token/index.ts';
import type { Phase, PhaseWithUser } from '../token/phase.ts';
import { readAnswer } from './input/token-file.ts';
import type { Io } from './io.ts';
import { formatDuration } from './output/progress.ts';
import { coloursOf, listed } from './output/style.ts';

/** The first character of an advertising token encodes scope and type, the second its version (docs/protocol.md, "Tokens"). */
const KINDS: Readonly<Record<string, string>> = {
  A: 'UID2, from an email address',
  B: 'UID2, from a phone number',
  E: 'EUID, from an email address',
  F: 'EUID, from a phone number',
};

const MEANINGS: Readonly<Record<PhaseWithUser, string>> = {
  fresh: 'the advertising token is valid, no refresh is due',
  due: 'the advertising token is valid, a refresh is due',
  stale: 'the advertising token has expired, the refresh token has not',
  ended: 'both tokens have expired: generate a new set',
};

/** The content of a set, without secrets. Instants are epoch ms. */
function inspectSet(set: TokenSet, now: number) {
  const { advertisingToken, refreshToken, refreshAt, expiresAt, endsAt } = set;
  const kind = KINDS[advertisingToken[0]!];
  const version = /^\d$/.test(advertisingToken[1] ?? '') ? `, version ${advertisingToken[1]}` : '';
  return {
    status: 'success',
    phase: phaseOf({ set, ended: now >= endsAt }, now) as Exclude<Phase, 'empty' | 'optedOut'>,
    kind: kind === undefined ? 'unknown' : kind + version,
    advertisingTokenLength: advertisingToken.length,
    refreshTokenLength: refreshToken.length,
    refreshAt,
    expiresAt,
    endsAt,
  };
}

function when(at: number, now: number): string {
  const span = formatDuration(Math.abs(at - now));
  return `${at > now ? `in ${span}` : `${span} ago`} (${new Date(at).toISOString()})`;
}

function printSet(found: ReturnType<typeof inspectSet>, now: number, io: Io): void {
  const { phase, kind, advertisingTokenLength, refreshTokenLength, refreshAt, expiresAt, endsAt } = found;
  const { bold, green, yellow, red } = coloursOf(io, 'out');
  const colour = { fresh: green, due: yellow, stale: yellow, ended: red }[phase];
  const rows = listed([
    ['phase', `${bold(colour(phase))}: ${MEANINGS[phase]}`],
    ['advertising token', `${advertisingTokenLength} characters; ${kind}`],
    ['refresh token', `${refreshTokenLength} characters`],
    ['response key', '32 bytes'],
    ['refresh due', when(refreshAt, now)],
    [expiresAt > now ? 'expires' : 'expired', when(expiresAt, now)],
    [endsAt > now ? 'refresh token ends' : 'refresh token ended', when(endsAt, now)],
  ]);
  for (const row of rows) io.out(row);
}

export function inspectCommand(io: Io): Command {
  return new Command('inspect')
    .description("describe a token set in words, by this machine's clock; print no secret")
    .argument('<file>', 'a token set as printed by generate; - for standard input')
    .option('--json', 'print one JSON object')
    .action(async (file: string, { json }: { json?: boolean }) => {
      const answer = await readAnswer(file, io);
      if (answer === 'optout')
        return io.out(json ? '{"status":"optout"}' : 'opted out: the answer for a user who has opted out, no tokens');
      const now = Date.now();
      const found = inspectSet(answer, now);
      if (json) io.out(JSON.stringify(found));
      else printSet(found, now, io);
    });
}
