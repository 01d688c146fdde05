/** The other worlds with the script tag, in Chromium's headless shell. */

import { testWorlds } from './tests.ts';

testWorlds('tag', 'tag');
