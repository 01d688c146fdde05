/** The worlds of `npm test`: the script tag in Chromium's headless shell. */

import { testWorlds } from './tests.ts';

testWorlds('npm test', 'tag');
