/** Worlds with the module build, in Chromium's headless shell. */

import { testWorlds } from './tests.ts';

testWorlds('module', 'module');
