/** The parts of the element, created one by one: a page with `require-trusted-types-for 'script'` refuses markup. */

import { draw, svg } from './draw.ts';
import type { Lane } from './entries.ts';
import { bar, refreshToken, type Shape, symbol } from './figure.ts';
import { nameOf, timeText } from './text.ts';

function html(tag: string, attributes: Readonly<Record<string, string>> = {}, ...parts: (Node | string)[]) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...parts);
  return element;
}

/** Samples of 24 by 14 px. */
const LEGEND: readonly (readonly [samples: readonly Shape[], text: string])[] = [
  [bar('fresh', 0, 24, 2, 10), 'in force'],
  [bar('due', 0, 24, 2, 10), 'due for a refresh'],
  [refreshToken(0, 23, 7), 'refresh token, and its end'],
  [[symbol('answered', 12, 7)], 'answered'],
  [[symbol('none', 12, 7)], 'left to another tab, or nothing new'],
  [[symbol('failed', 12, 7)], 'failed'],
  [[symbol('planned', 12, 7)], 'planned'],
  [bar('wait', 0, 24, 5, 4), 'waiting'],
  [[symbol('event', 12, 7)], 'event'],
];

export function createParts(isDocked: boolean): Element[] {
  const keys = LEGEND.map(([samples, text]) =>
    html('li', {}, svg('svg', { viewBox: '0 0 24 14', 'aria-hidden': 'true' }, ...samples.map(draw)), text),
  );
  return [
    html(
      'div',
      { class: 'top' },
      html('p', { class: 'now' }, html('strong', { part: 'phase' }), html('span')),
      html('button', { 'data-do': 'copy' }, 'Copy report'),
      ...(isDocked ? [html('button', { 'data-do': 'close' }, 'Close')] : []),
    ),
    // The list says the same in words.
    html('div', { class: 'figure' }, svg('svg', { 'aria-hidden': 'true' })),
    html('ul', { class: 'keys', 'aria-label': 'Legend' }, ...keys),
    html(
      'details',
      {},
      html('summary', {}, 'All of it as a list'),
      html('ol', { tabindex: '0', 'aria-label': 'What has happened, newest first' }),
    ),
    html('span', { role: 'status', 'aria-label': 'Report' }),
  ];
}

const LIST_LENGTH = 100;

/** Newest first. */
export function showList(list: Element, lanes: readonly Lane[]): void {
  const lines = lanes
    .flatMap((lane, index) =>
      lane.entries.map(({ at, text }) => ({ at, cells: [timeText(at, 1), nameOf(lane, index), text] })),
    )
    .sort((one, other) => other.at - one.at)
    .slice(0, LIST_LENGTH);
  list.replaceChildren(...lines.map(({ cells }) => html('li', {}, ...cells.map((text) => html('span', {}, text)))));
}
