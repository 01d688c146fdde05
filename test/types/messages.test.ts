/** What the compiler says about common mistakes: its message ends in what to do, or lists the right names. */

import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { root } from '../../build/dist.ts';

const FOLDER = `${root}test-output/messages`;
const CODE = `
import { createSession } from '${root}src/session/index.ts';
const session = createSession({ baseUrl: '', provide: () => fetch('/token') });
createSession({ baseUrl: '', tokens: new Response() });
fetch('/token').then((response) => session.setTokens(response));
session.on('optOut', () => {});
`;

test('a Response instead of its JSON, and a misspelt event', async () => {
  await mkdir(FOLDER, { recursive: true });
  await writeFile(`${FOLDER}/mistakes.ts`, CODE);
  await writeFile(
    `${FOLDER}/tsconfig.json`,
    JSON.stringify({ extends: `${root}tsconfig.json`, exclude: [], include: ['.'] }),
  );
  const tsc = promisify(execFile)(process.execPath, [`${root}node_modules/typescript/bin/tsc`, '-p', FOLDER]);
  const { stdout } = await tsc.catch((failure: { stdout: string }) => failure);
  const last = stdout
    .trim()
    .split(/\n(?! )/)
    // What the source declares for the whole project is not included.
    .filter((message) => message.includes('mistakes.ts'))
    .map((message) =>
      message
        .split('\n')
        .at(-1)!
        .replace(/^.*error TS\d+: /, '')
        .trim(),
    );
  const json = `Type '() => Promise<any>' is not assignable to type '"pass the parsed JSON: await response.json()"'.`;
  const name = `Argument of type '"optOut"' is not assignable to parameter of type '"error" | "expired" | "needsTokens" | "optout" | "token"'.`;
  expect(last).toEqual([json, json, json, name]);
});
