/** The worlds in whole browsers, where they differ: in storage, time and navigation. */

import { chromium } from '../support/chromium.ts';
import { firefox } from '../support/firefox.ts';
import { webkit } from '../support/webkit.ts';
import { lostTime, symptoms } from './store-and-time.ts';
import { testWorldsIn } from './tests.ts';
import type { World } from './world.ts';

const names = new Set([...symptoms, ...lostTime].map(({ name }) => name));
const differs = ({ often, isPlain, engines, name }: World) => engines || (often && (isPlain || names.has(name)));

// The shell has the engine of Chromium.
testWorldsIn(chromium, ({ engines }) => engines);
testWorldsIn(firefox, differs);
testWorldsIn(webkit, differs);
