/** Draws shapes as SVG. */

import type { Shape } from './figure.ts';

const SVG = 'http://www.w3.org/2000/svg';

export function svg(tag: string, attributes: Shape['attributes'], ...parts: readonly (Node | string)[]): SVGElement {
  const element = document.createElementNS(SVG, tag) as SVGElement;
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...parts);
  return element;
}

export function draw({ tag, name, attributes, text = '' }: Shape): SVGElement {
  return svg(tag, { class: name, ...attributes }, text);
}
