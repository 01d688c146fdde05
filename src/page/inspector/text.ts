/** Words that the parts of the inspector share, and the report. */

import type { SessionState } from '../../session/index.ts';
import type { Lane } from './entries.ts';

/** With seconds if ticks are less than a minute apart, and the date if they are a day apart. */
export function timeText(at: number, stepMs: number): string {
  const time = new Date(at);
  const two = (value: number) => String(value).padStart(2, '0');
  if (stepMs >= 86_400_000) return `${two(time.getDate())}.${two(time.getMonth() + 1)}.`;
  const clock = `${two(time.getHours())}:${two(time.getMinutes())}`;
  return stepMs < 60_000 ? `${clock}:${two(time.getSeconds())}` : clock;
}

export function nameOf({ tab, label }: Lane, index: number) {
  return label || (index === 0 ? 'This tab' : `Tab ${tab}`);
}

export function statusOf({ phase, persistence, clockOffsetMs }: SessionState): string {
  const offset = Math.round((clockOffsetMs ?? 0) / -1000);
  return `phase ${phase}, stored in ${persistence}${offset ? `, clock ${offset} s off` : ''}`;
}

/** `state`: of this tab, in words. The report contains no address, because a path may contain personal data. */
export function reportText(state: string, lanes: readonly Lane[], now: number): string {
  const page = {
    secure: globalThis.isSecureContext === true,
    visible: globalThis.document?.visibilityState === 'visible',
    locks: Boolean(globalThis.navigator?.locks),
    webCrypto: Boolean(globalThis.crypto?.subtle),
  };
  const features = Object.entries(page).map(([name, value]) => `${name} ${value ? 'yes' : 'no'}`);
  const lines = [
    state,
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
