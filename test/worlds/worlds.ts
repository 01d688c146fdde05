/** The list of worlds. */

import { hostile, moved } from './delivery.ts';
import { lateServices, lateStores } from './late.ts';
import { builtins, others } from './page-code.ts';
import type { Build } from './site.ts';
import { lostTime, symptoms } from './store-and-time.ts';
import { ended, placed } from './whole-pages.ts';
import type { World } from './world.ts';

/** Worlds that have nothing else to say run with these builds. */
const withBuilds = (builds: readonly Build[], list: readonly World[]): World[] =>
  list.map((world) => ({ builds, ...world }));

export const worlds: readonly World[] = [
  { name: 'an ordinary page', in: ['npm test', 'module', 'drop-in', 'chromium', 'oldest'] },
  // The drop-in keeps its identity in local storage too.
  ...withBuilds(['tag', 'module'], [...symptoms, ...lostTime, ...lateStores, ...lateServices, ...hostile, ...ended]),
  ...placed,
  ...builtins,
  ...others,
  ...moved,
];
