/**
 * The timeline in words: the ordered list beside the figure, and the support log that "Copy report" copies. Pure.
 *
 * It contains only instants, words of closed lists and error codes, so a report may be sent to anybody. It contains no address,
 * because a path may contain personal data.
 */

import { CAUSES, type Entry, type Lane, MARKS, OUTCOMES, REASONS } from './entries.ts';
import { timeText } from './shapes.ts';

function seconds(ms: number) {
  return ms < 10_000 ? `${Math.round(ms)} ms` : durationText(ms);
}

/** `8 s`, `2 min 30 s`, `3 h`, `1 d 4 h`. */
export function durationText(ms: number): string {
  const total = Math.max(0, Math.round(ms / 1000));
  const units: [size: number, name: string][] = [
    [86_400, 'd'],
    [3600, 'h'],
    [60, 'min'],
    [1, 's'],
  ];
  const first = units.findIndex(([size]) => total >= size);
  if (first < 0) return '0 s';
  const parts = units.slice(first, first + 2).map(([size, name], index) => {
    const rest = index === 0 ? total : total % units[first]![0];
    return [Math.floor(rest / size), name] as const;
  });
  return parts
    .filter(([count]) => count > 0)
    .map(([count, name]) => `${count} ${name}`)
    .join(' ');
}

/** Describe an entry as a sentence. */
export function describeEntry(entry: Entry): string {
  const took = 'until' in entry && entry.until !== undefined ? seconds(entry.until - entry.at) : undefined;
  if (entry.kind === 'generation') {
    const origin = entry.cause ? CAUSES[entry.cause] : 'held before the recording began';
    const times = [entry.refreshAt, entry.expiresAt, entry.endsAt].map((at) => timeText(at, 1));
    return `Token, ${origin}: refresh from ${times[0]}, expires ${times[1]}, refresh token ends ${times[2]}`;
  }
  if (entry.kind === 'attempt') {
    const { action, outcome, failure } = entry;
    if (!outcome) return `Attempt (${action}): in progress`;
    return `Attempt (${action}): ${failure ? `failed, ${failure}` : OUTCOMES[outcome]}, after ${took}`;
  }
  if (entry.kind === 'outage') return `Outage (${entry.failure})${took ? ` for ${took}` : ', not over yet'}`;
  if (entry.kind === 'wait') {
    const planned = entry.plannedAt === undefined ? '' : ` at ${timeText(entry.plannedAt, 1)}`;
    return `Next: ${entry.action}${planned} (${entry.reason}: ${REASONS[entry.reason]})`;
  }
  return `${MARKS[entry.name]}${entry.detail ? `: ${entry.detail}` : ''}`;
}

/** The support log of all tabs. */
export function reportText(lanes: readonly Lane[], now: number, page: Readonly<Record<string, boolean>>): string {
  const lines = [
    `Tessera support log, ${new Date(now).toISOString()}. It contains no token, key or personal data.`,
    `Page: ${Object.entries(page)
      .map(([name, value]) => `${name} ${value ? 'yes' : 'no'}`)
      .join(', ')}`,
  ];
  lanes.forEach((lane, index) => {
    const { tab, label, phase, persistence, clockOffsetMs, entries } = lane;
    const name = `Tab ${tab}${label ? ` (${label})` : ''}${index === 0 ? ', this one' : ''}`;
    lines.push('', `${name}: phase ${phase}, stored in ${persistence}, clock offset ${clockOffsetMs} ms`);
    for (const entry of entries) lines.push(`  ${new Date(entry.at).toISOString()}  ${describeEntry(entry)}`);
  });
  return `${lines.join('\n')}\n`;
}
