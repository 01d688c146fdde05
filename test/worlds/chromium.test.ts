/** The worlds of `npm test`: the script tag in Chromium's headless shell. */

import { shell, testWorlds } from './tests.ts';

testWorlds(
  'tag',
  () => shell,
  'shell',
  ({ often }) => often,
);
