/** Draws shapes as SVG. Elements are kept from one drawing to the next, so that a tooltip stays open. */

import type { Figure, Shape } from './shapes.ts';

/** Namespace of SVG elements. */
export const SVG = 'http://www.w3.org/2000/svg';

function attributesOf(shape: Shape): Record<string, string | number> {
  switch (shape.type) {
    case 'rect':
      return { class: shape.name, x: shape.x, y: shape.y, width: shape.width, height: shape.height, rx: 3 };
    case 'line':
      return { class: shape.name, x1: shape.x, y1: shape.y, x2: shape.toX, y2: shape.toY };
    case 'path':
      return { class: shape.name, d: shape.d };
    case 'text':
      return { class: shape.name, x: shape.x, y: shape.y };
  }
}

/** Make `svg` show the figure. */
export function drawFigure(svg: SVGSVGElement, { width, height, shapes }: Figure): void {
  const attributes = { width, height, viewBox: `0 0 ${width} ${height}` };
  for (const [name, value] of Object.entries(attributes)) svg.setAttribute(name, String(value));
  shapes.forEach((shape, index) => {
    let element = svg.children[index];
    if (element?.tagName !== shape.type) {
      const created = document.createElementNS(SVG, shape.type);
      if (element) element.replaceWith(created);
      else svg.append(created);
      element = created;
    }
    for (const [name, value] of Object.entries(attributesOf(shape)))
      element.setAttribute(name, typeof value === 'number' ? String(Math.round(value * 10) / 10) : value);
    const text = shape.type === 'text' ? shape.text : '';
    const title = 'title' in shape ? shape.title : undefined;
    if (title !== undefined) {
      const tip = element.firstElementChild ?? element.appendChild(document.createElementNS(SVG, 'title'));
      if (tip.textContent !== title) tip.textContent = title;
    } else if (element.textContent !== text) element.textContent = text;
  });
  while (svg.children.length > shapes.length) svg.lastElementChild?.remove();
}
