/** Words that the parts of the inspector share, and the report. Pure. */

import type { SessionState } from '../../session/index.ts';
import type { Lane } from './entries.ts';

/** The time of day, with seconds if ticks are less than a minute apart, and the date if they are a day apart. */
export function timeText(at: number, stepMs: number): string {
  const time = new Date(at);
  const two = (value: number) => String(value).padStart(2, '0');
  if (stepMs >= 86_400_000) return `${two(time.getDate())}.${two(time.getMonth() + 1)}.`;
  const clock = `${two(time.getHours())}:${two(time.getMinutes())}`;
  return stepMs < 60_000 ? `${clock}:${two(time.getSeconds())}` : clock;
}

/** `90 s`, `15 min`, `3 h`, `30 d`. */
export function durationText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)} h` : `${Math.round(seconds / 86_400)} d`;
}

/** The name of a lane; the first one is this tab's. */
export function nameOf({ tab, label }: Lane, index: number) {
  return label || (index === 0 ? 'This tab' : `Tab ${tab}`);
}

export function statusOf({ phase, persistence, clockOffsetMs }: SessionState): string {
  const offset = Math.round((clockOffsetMs ?? 0) / -1000);
  return `phase ${phase}, stored in ${persistence}${offset ? `, clock ${offset} s off` : ''}`;
}

/** The support log of all tabs. It contains no address, because a path may contain personal data. */
export function reportText(lanes: readonly Lane[], now: number): string {
  const page = {
    secure: globalThis.isSecureContext === true,
    visible: globalThis.document?.visibilityState === 'visible',
    locks: Boolean(globalThis.navigator?.locks),
    webCrypto: Boolean(globalThis.crypto?.subtle),
  };
  const features = Object.entries(page).map(([name, value]) => `${name} ${value ? 'yes' : 'no'}`);
  const lines = [
    `Tessera support log, ${new Date(now).toISOString()}. It contains no token, key or personal data.`,
    `Page: ${features.join(', ')}`,
  ];
  lanes.forEach(({ tab, label, status, entries }, index) => {
    const name = `Tab ${tab}${label ? ` (${label})` : ''}${index === 0 ? ', this one' : ''}`;
    lines.push('', `${name}: ${status}`);
    for (const { at, text } of entries) lines.push(`  ${new Date(at).toISOString()}  ${text}`);
  });
  return `${lines.join('\n')}\n`;
}
