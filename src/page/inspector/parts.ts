/**
 * The parts of the element: heading, buttons, figure, legend, list. They are created one by one, because a page with
 * `require-trusted-types-for 'script'` refuses markup.
 */

import { SVG } from './draw.ts';
import type { Lane } from './entries.ts';
import { nameOf, timeText } from './shapes.ts';
import { describeEntry } from './text.ts';

type Attributes = Readonly<Record<string, string>>;

function withAttributes<E extends Element>(element: E, attributes: Attributes, parts: readonly (Node | string)[]): E {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...parts);
  return element;
}

function html(tag: string, attributes: Attributes = {}, ...parts: (Node | string)[]) {
  return withAttributes(document.createElement(tag), attributes, parts);
}

function svg(tag: string, attributes: Attributes, ...parts: Node[]) {
  return withAttributes(document.createElementNS(SVG, tag), attributes, parts);
}

function button(action: string, text: string, more: Attributes = {}) {
  return html('button', { 'data-do': action, ...more }, text);
}

function bar(name: string, height: number): Element {
  return svg('rect', { class: name, x: '0', y: `${7 - height / 2}`, width: '24', height: `${height}`, rx: '3' });
}

function path(name: string, d: string): Element {
  return svg('path', { class: name, d });
}

const CIRCLE = 'M7 7a5 5 0 1 0 10 0a5 5 0 1 0 -10 0z';
const RING = 'M8.5 7a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z';

function legend(): [samples: Element[], text: string][] {
  return [
    [[bar('fresh', 10)], 'in force'],
    [[bar('due', 10)], 'due for a refresh'],
    [[path('refreshable', 'M0 7h22'), path('ends', 'M23 2v10')], 'refresh token, and its end'],
    [[path('attempt token', CIRCLE)], 'answered'],
    [[path('attempt none', RING)], 'left to another tab, or nothing new'],
    [[path('attempt failed', 'M7 2l10 10m0 -10l-10 10')], 'failed'],
    [[path('planned', CIRCLE)], 'planned'],
    [[bar('wait', 4)], 'waiting'],
    [[path('mark', 'M12 0l7 7l-7 7l-7 -7z')], 'event'],
    [[bar('outage', 14)], 'outage'],
  ];
}

const FIGURE_LABEL =
  'Timeline. Arrow keys move it, plus and minus zoom, Space pauses; the list below says the same in words.';

/** Create what the shadow root of the element contains. */
export function createParts(): Element[] {
  const keys = legend().map(([samples, text]) =>
    html('li', {}, svg('svg', { viewBox: '0 0 24 14', 'aria-hidden': 'true' }, ...samples), text),
  );
  return [
    html(
      'div',
      { class: 'top' },
      html('p', { class: 'now' }, html('strong', { part: 'phase' }), html('span')),
      html(
        'div',
        { class: 'tools', role: 'group', 'aria-label': 'View of the timeline' },
        button('pause', 'Pause', { 'aria-pressed': 'false' }),
        button('zoomOut', '\u2212', { 'aria-label': 'Show more time' }),
        html('span', { class: 'span' }),
        button('zoomIn', '+', { 'aria-label': 'Show less time' }),
        button('fit', 'Fit'),
        button('now', 'Now'),
        button('copy', 'Copy report'),
        button('close', 'Close', { hidden: '' }),
      ),
    ),
    html(
      'div',
      { class: 'figure', tabindex: '0', role: 'group', 'aria-label': FIGURE_LABEL },
      svg('svg', { 'aria-hidden': 'true' }),
    ),
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

/** Fill the list, which says the same as the figure in words: one entry per line, newest first. */
export function showList(list: HTMLElement, lanes: readonly Lane[]): void {
  const lines = lanes
    .flatMap((lane, index) => lane.entries.map((entry) => ({ entry, who: nameOf(lane, index) })))
    .sort((one, other) => other.entry.at - one.entry.at)
    .slice(0, LIST_LENGTH);
  list.replaceChildren(
    ...lines.map(({ entry, who }) =>
      html('li', {}, ...[timeText(entry.at, 1), who, describeEntry(entry)].map((text) => html('span', {}, text))),
    ),
  );
}
