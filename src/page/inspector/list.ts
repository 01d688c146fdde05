/** The list beside the figure: the same content in words, for screen readers and for reading. */

import type { Lane } from './entries.ts';
import { nameOf, timeText } from './shapes.ts';
import { describeEntry } from './text.ts';

const LIST_LENGTH = 100;

/** Fill the list if it is open: one entry per line, newest first. */
export function showList(list: HTMLElement, lanes: readonly Lane[]): void {
  const lines = lanes
    .flatMap((lane, index) => lane.entries.map((entry) => ({ entry, who: nameOf(lane, index) })))
    .sort((one, other) => other.entry.at - one.entry.at)
    .slice(0, LIST_LENGTH);
  list.replaceChildren(
    ...lines.map(({ entry, who }) => {
      const item = document.createElement('li');
      for (const text of [timeText(entry.at, 1), who, describeEntry(entry)]) {
        const part = document.createElement('span');
        part.textContent = text;
        item.append(part);
      }
      return item;
    }),
  );
}
