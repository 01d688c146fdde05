/** Content blockers decide by the name of a file: where the files of the package are served, no rule of public lists matches. */

import { relative } from 'node:path';
import { expect, test } from 'vitest';
import { filesBelow, root } from '../build/dist.ts';
import { entries } from '../build/entries.ts';
import { isMatch, RULES, ruleAgainst } from './support/filter-rules.ts';

test.each([
  ['/ads.', 'https://site.example/js/Ads.js', 'https://site.example/leads.js'],
  ['/ads/*', 'https://site.example/ads/a.js', 'https://site.example/ads.js'],
  ['/cookie*.js', 'https://site.example/cookie-note.js', 'https://site.example/cookie.css'],
  ['||ads.example^', 'https://cdn.ads.example/a.js', 'https://site.example/?from=ads.example'],
  ['||ads.example^', 'https://ads.example', 'https://ads.example.org/'],
  ['|https://ads.', 'https://ads.site.example/', 'https://site.example/?to=https://ads.site.example'],
  ['/track.js|', 'https://site.example/track.js', 'https://site.example/track.js?v=1'],
])('the rule %s matches %s, and not %s', (rule, matched, other) => {
  expect([isMatch(rule, matched), isMatch(rule, other)]).toEqual([true, false]);
});

/** The addresses at which a file of `dist/` is served: from the package, from a CDN, at the root of a site, and built by a bundler. */
const addressesOf = (file: string): string[] => {
  const name = file.split('/').at(-1)!;
  const word = name.replace(/(-[\w-]{8})?(\.d)?\.\w+(\.map)?$/, '');
  return [
    `https://site.example/node_modules/tessera-id/dist/${file}`,
    `https://cdn.jsdelivr.net/npm/tessera-id@0.1.0/dist/${file}`,
    `https://site.example/${file}`,
    `https://site.example/${name}`,
    `https://site.example/assets/${word}-BxOSpjJ6.js`,
    `https://site.example/static/${word}.min.js`,
  ];
};

test('no rule matches the address of a file of the package', async () => {
  const files = (await filesBelow(`${root}dist`)).map((file) => relative(`${root}dist`, file).replaceAll('\\', '/'));
  expect(files).toEqual(expect.arrayContaining(['tessera.js', 'page/user-id-module.js', 'page/user-id-module.d.ts']));
  expect(RULES.length).toBeGreaterThan(40);
  const blocked = files.flatMap(addressesOf).filter((url) => ruleAgainst(url));
  expect(blocked).toEqual([]);
});

test("of the names that Vite's development server derives from the imports, only that of Prebid's adapter is blocked", () => {
  const names = Object.keys(entries).map((path) => `tessera-id${path.slice(1).replaceAll('/', '_')}.js`);
  const blocked = names.filter((name) => ruleAgainst(`https://site.example/node_modules/.vite/deps/${name}`));
  // The documentation loads it only after the session exists: see test/docs/adapter-imports.test.ts.
  expect(blocked).toEqual(['tessera-id_prebid.js']);
});
