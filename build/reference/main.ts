/**
 * Generates the pages of `docs/reference/`: one for each entry point, from its docstrings, and one for the command line, from its
 * help. `npm run docs` and `npm run docs:build` run it; the pages are not committed.
 */

import { rm } from 'node:fs/promises';
import { root } from '../dist.ts';
import { writeCommandLine } from './command-line.ts';
import { writeEntries } from './entries.ts';

const folder = `${root}docs/reference/`;

await rm(folder, { recursive: true, force: true });
await writeEntries(folder);
await writeCommandLine(folder);
