/**
 * The pages of the site, in the order of the sidebar. A page that is not there is left out, and a page that is in no list fails
 * the build.
 */

import { existsSync, readdirSync } from 'node:fs';
import type { DefaultTheme } from 'vitepress';

type Page = readonly [title: string, page: string];

const docs = new URL('../', import.meta.url).pathname;

const PAGES: Readonly<Record<string, readonly Page[]>> = {
  Introduction: [
    ['Why Tessera', 'why'],
    ['Guarantees', 'guarantees'],
    ['Benchmarks', 'benchmarks'],
  ],
  'Get started': [
    ['Migrate in five minutes', 'start/migrate'],
    ['Script tag', 'start/script-tag'],
    ['Single-page app', 'start/spa'],
    ['Next.js', 'start/nextjs'],
    ['An app with a webview', 'start/webview'],
  ],
  'Guides: pages': [
    ['Session', 'pages/session'],
    ['Server', 'pages/server'],
    ['Script tag in detail', 'pages/script-tag'],
    ['React', 'pages/react'],
    ['Other frameworks', 'pages/frameworks'],
    ['Webviews in detail', 'pages/webview'],
    ['Consent', 'pages/consent'],
    ['Prebid', 'pages/prebid'],
    ['Secure Signals', 'pages/secure-signals'],
    ['Testing', 'pages/testing'],
    ['Inspector', 'pages/inspector'],
    ['Vitals', 'pages/vitals'],
  ],
  'Guides: mapping': [
    ['Mapping', 'mapping/index'],
    ['Mapping in a warehouse', 'mapping/warehouse'],
    ['From Python', 'mapping/python'],
  ],
  'Guides: operating': [
    ['The operator', 'operating/operator'],
    ['In production', 'operating/production'],
    ['Command line', 'operating/command-line'],
    ['Docker, Kubernetes, TLS', 'operating/deployment'],
    ['PostgreSQL and backup', 'operating/postgresql'],
    ['Metrics and alerts', 'operating/monitoring'],
    ['Key and root rotation', 'operating/rotation'],
  ],
  Concepts: [
    ['Life of a token', 'concepts/life'],
    ['Security model', 'concepts/security'],
    ['Glossary', 'concepts/glossary'],
  ],
  Reference: [
    ['Session, exact rules', 'session-reference'],
    ['Errors and troubleshooting', 'errors'],
    ['Migrating, exact rules', 'migration'],
    ['Wire protocol', 'protocol'],
    ['tessera, all options', 'reference/command-line'],
    ['All modules', 'reference/index'],
    ['tessera-id', 'reference/tessera-id'],
    ['tessera-id/server', 'reference/tessera-id/server'],
    ['tessera-id/server/node', 'reference/tessera-id/server/node'],
    ['tessera-id/operator', 'reference/tessera-id/operator'],
    ['tessera-id/operator/node', 'reference/tessera-id/operator/node'],
    ['tessera-id/mapping', 'reference/tessera-id/mapping'],
    ['tessera-id/testing', 'reference/tessera-id/testing'],
    ['tessera-id/token', 'reference/tessera-id/token'],
    ['tessera-id/react', 'reference/tessera-id/react'],
    ['tessera-id/consent', 'reference/tessera-id/consent'],
    ['tessera-id/prebid', 'reference/tessera-id/prebid'],
    ['tessera-id/secure-signals', 'reference/tessera-id/secure-signals'],
    ['tessera-id/webview', 'reference/tessera-id/webview'],
    ['tessera-id/react-native', 'reference/tessera-id/react-native'],
    ['tessera-id/inspector', 'reference/tessera-id/inspector'],
    ['tessera-id/uid2', 'reference/tessera-id/uid2'],
    ['tessera-id/vitals', 'reference/tessera-id/vitals'],
    ['tessera-id/global', 'reference/tessera-id/global'],
  ],
};

/** The sidebar. */
export const sidebar: DefaultTheme.SidebarItem[] = Object.entries(PAGES).map(([text, pages]) => ({
  text,
  items: pages
    .filter(([, page]) => existsSync(`${docs}${page}.md`))
    .map(([title, page]) => ({ text: title, link: `/${page.replace(/(^|\/)index$/, '$1')}` })),
}));

/** Fail if a page is in no list: nobody would find it. */
export const checkSidebar = (): void => {
  const listed = new Set(Object.values(PAGES).flatMap((pages) => pages.map(([, page]) => page)));
  const files = readdirSync(docs, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.md') && !file.startsWith('.vitepress/'),
  );
  const missing = files
    .map((file) => file.replace(/\.md$/, ''))
    .filter((page) => page !== 'index' && !listed.has(page));
  if (missing.length)
    throw new Error(`docs/.vitepress/sidebar.ts: expected every page, got none for ${missing.join(', ')}`);
};
