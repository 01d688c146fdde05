/** `node index.js FOLDER`, daily: maps who is new or due, then removes the raw IDs of users who have opted out. */

import { applyOptOuts, mapDue } from './lake.js';

const folder = process.argv[2] ?? '.';
await mapDue(folder);
await applyOptOuts(folder);
