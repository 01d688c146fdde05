/** The other worlds in Chromium's headless shell, with the script tag and the other builds. */

import { shell, testWorlds } from './tests.ts';

testWorlds(
  'tag',
  () => shell,
  'shell',
  ({ often }) => !often,
);
testWorlds(
  'module',
  () => shell,
  'shell',
  ({ often, builds }) => often || builds?.[0] === 'module',
);
testWorlds(
  'drop-in',
  () => shell,
  'shell',
  () => true,
);
