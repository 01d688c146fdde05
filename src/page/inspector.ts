/**
 * `tessera-id/inspector`: shows what a session does, as a text report (`inspect`) and as a timeline (`<tessera-inspector>`).
 * Importing this file defines the element where there is a DOM.
 */

export { defineInspector, type InspectorElement } from './inspector/element.ts';
export { type Inspector, type InspectorOptions, inspect } from './inspector/inspect.ts';

import { defineInspector, type InspectorElement } from './inspector/element.ts';

declare global {
  interface HTMLElementTagNameMap {
    'tessera-inspector': InspectorElement;
  }
}

defineInspector();
