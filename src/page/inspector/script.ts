/** `tessera-inspector.js`: the timeline at the bottom of a page with `window.tessera`. Loading it again removes the timeline. */

import { ownGlobal } from '../clobbering.ts';
import type { Tessera } from '../global.ts';
import { defineInspector, type InspectorElement } from './element.ts';

function show({ session }: Tessera): void {
  const shown = document.querySelector('tessera-inspector[docked]');
  shown?.remove();
  if (shown) return;
  const element = document.createElement('tessera-inspector') as InspectorElement;
  element.setAttribute('docked', '');
  // Not to `body`: a script in the head runs before there is one, and an element named `body` hides it.
  document.documentElement.append(element);
  element.session = session;
}

defineInspector();
/** Before the runtime has loaded, the global is a queue of calls. */
const tessera = ownGlobal('tessera') ?? (window.tessera = []);
tessera.push(show);
