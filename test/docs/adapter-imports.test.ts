/** A module whose static import is blocked does not run at all, so none that creates a session imports an adapter statically. */

import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { root } from '../../build/dist.ts';
import { blocks, placeOf } from './blocks.ts';

/** The adapters that are connected to a session, by their imports and by their files. */
const ADAPTER = /^\s*import\s[^;(]*['"][^'"]*\/(prebid|user-id-module|secure-signals|webview)(\.js)?['"]/m;
const CREATES_SESSION = /\bcreateSession\(/;

const isFragile = (code: string): boolean => ADAPTER.test(code) && CREATES_SESSION.test(code);

const filesOf = (folder: string): (readonly [string, string])[] =>
  readdirSync(root + folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(html|[jt]sx?)$/.test(file) && !file.includes('node_modules'))
    .map((file) => [`${folder}/${file}`, readFileSync(`${root + folder}/${file}`, 'utf8')]);

test.each([
  [`import { connectPrebid } from 'tessera-id/prebid';\ncreateSession(options);`, true],
  [
    `import { createSession } from 'tessera-id';\nimport {\n  connectWebview,\n} from '/page/webview.js';\ncreateSession({});`,
    true,
  ],
  [`createSession(options);\nimport('tessera-id/prebid').then(({ connectPrebid }) => connectPrebid(session));`, false],
  [`import { connectPrebid } from 'tessera-id/prebid';\nconnectPrebid(useSession().session);`, false],
])('%j: %s', (code, expected) => expect(isFragile(code)).toBe(expected));

test('no code of the documentation, the examples and the demo imports an adapter before its session exists', () => {
  const all = [
    ...blocks.map((block) => [placeOf(block), block.code] as const),
    ...filesOf('examples'),
    ...filesOf('demo/page'),
  ];
  expect(all.filter(([, code]) => CREATES_SESSION.test(code)).length).toBeGreaterThan(15);
  expect(all.filter(([, code]) => isFragile(code)).map(([place]) => place)).toEqual([]);
});
