/** The documentation site: `npm run docs` serves it, `npm run docs:build` builds it into `docs/.vitepress/dist/`. */

import { defineConfig } from 'vitepress';
import { linkOutside } from './outside.ts';
import { checkSidebar, sidebar } from './sidebar.ts';
import { plainEmptyHeaders, refuseLooseRows } from './tables.ts';

checkSidebar();

/** Absolute, as an alias must be. */
const path = (file: string) => new URL(`../../${file}`, import.meta.url).pathname;

export default defineConfig({
  title: 'Tessera',
  description: 'Keeps a publisher’s short-lived identity token valid in the browser.',
  lang: 'en',
  // The path of the site on its host, with a `/` on both sides.
  base: process.env['DOCS_BASE'] ?? '/',
  lastUpdated: false,
  markdown: {
    config: (markdown) => {
      linkOutside(markdown);
      plainEmptyHeaders(markdown);
      refuseLooseRows(markdown);
    },
    // The default pair has too little contrast for small text.
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
  },
  vite: {
    // The live figure runs the source of this repository, its operator included.
    resolve: { alias: { util: path('build/util.ts') } },
    build: { chunkSizeWarningLimit: 1500, target: 'es2022' },
  },
  vue: { template: { compilerOptions: { isCustomElement: (tag) => tag === 'tessera-inspector' } } },
  themeConfig: {
    nav: [
      { text: 'Get started', link: '/start/script-tag', activeMatch: '^/start/' },
      { text: 'Guides', link: '/pages/session', activeMatch: '^/(pages|mapping|operating)/' },
      { text: 'Concepts', link: '/concepts/life', activeMatch: '^/concepts/' },
      {
        text: 'Reference',
        link: '/session-reference',
        activeMatch: '^/(session-reference|errors|migration|protocol|reference)',
      },
    ],
    sidebar,
    outline: [2, 3],
    search: {
      provider: 'local',
      // The name contains the text of the button, whose last part is the key: "Search K".
      options: {
        translations: { button: { buttonText: 'Search ', buttonAriaLabel: 'Search K (with Control or Command)' } },
      },
    },
    socialLinks: [{ icon: 'github', link: 'https://github.com/tessera-id/tessera' }],
    externalLinkIcon: true,
  },
});
