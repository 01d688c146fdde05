/** `tessera-id/inspector`: what a session does, as text (`inspect`) and as a timeline. Importing it defines `<tessera-inspector>`. */

export { defineInspector, type InspectorElement } from './inspector/element.ts';
export { type Inspector, type InspectorOptions, inspect } from './inspector/inspect.ts';

import { defineInspector, type InspectorElement } from './inspector/element.ts';

declare global {
  interface HTMLElementTagNameMap {
    'tessera-inspector': InspectorElement;
  }
}

defineInspector();
