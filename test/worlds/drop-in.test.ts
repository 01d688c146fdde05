/** Worlds with the drop-in, in Chromium's headless shell. */

import { testWorlds } from './tests.ts';

testWorlds('drop-in', 'drop-in');
