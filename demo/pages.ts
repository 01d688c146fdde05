/** The pages of the demo, their common frame, and the files that they load. */

import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { root } from '../build/dist.ts';
import { install } from '../build/packages.ts';

export interface PageInfo {
  readonly file: string;
  readonly title: string;
  /** One sentence that says what a visitor sees here. */
  readonly lead: string;
  /** Modules of the page, and scripts that must run before them. */
  readonly modules?: readonly string[];
  readonly scripts?: readonly string[];
  /** Shown in a frame, without header and footer. */
  readonly isFrame?: boolean;
  /** Folders of packages that the page needs and only a clone of the repository has. Without them, it shows only a notice. */
  readonly packages?: readonly string[];
  /** The folder whose packages are installed when the page is first opened. */
  readonly installs?: string;
}

/** Prebid, which takes up to half a minute to install. */
const PREBID = { installs: 'demo/prebid' };

/** Path -> page. The start page links to those that are not frames, in this order. */
export const PAGES: Readonly<Record<string, PageInfo>> = {
  '/': {
    file: 'dashboard.html',
    title: 'Dashboard',
    lead: 'Tessera keeps the identity token of a signed-in reader valid, in all tabs and through failures. Look first at the Inspector: sign in, watch the token in four tabs, then make something fail.',
    // The development build, whose error messages are sentences.
    scripts: ['/tessera.dev.js'],
    modules: ['/dashboard.js'],
  },
  '/compare': {
    file: 'compare.html',
    title: 'Side by side',
    lead: "The same fault for Tessera, Prebid's UID2 module and the UID2 JavaScript SDK.",
    modules: ['/compare.js', '/recorded.js'],
  },
  '/script-tag': {
    file: 'script-tag.html',
    title: 'Script tag',
    lead: 'Two attributes on one tag, and no other code.',
    modules: ['/script-tag.js'],
  },
  '/prebid': {
    file: 'auction.html',
    title: 'Prebid',
    lead: 'The real Prebid.js with a bidder on this machine: see the user ID in the bid request.',
    scripts: ['/pbjs.js', '/tessera.js'],
    modules: ['/auction-page.js'],
    ...PREBID,
  },
  '/webview': {
    file: 'webview.html',
    title: 'Webview',
    lead: 'A page in a native app and the app around it share one identity.',
    scripts: ['/webview-app.js'],
  },
  '/consent': {
    file: 'consent.html',
    title: 'Consent',
    lead: 'A mock consent platform with TCF and GPP: nothing is stored or sent before the user agrees.',
    scripts: ['/tessera.js'],
    modules: ['/consent-page.js'],
  },
  '/advertiser': {
    file: 'advertiser.html',
    title: 'Advertiser',
    lead: 'Upload a customer list, map it, travel a year ahead, and see which raw IDs have rotated.',
    modules: ['/advertiser-page.js'],
  },
  '/operator': {
    file: 'operator.html',
    title: 'Operator',
    lead: "The operator's own metrics, from its metrics endpoint.",
    modules: ['/operator-page.js'],
  },
  '/react': {
    file: 'react.html',
    title: 'React',
    lead: 'Two hooks in a React app.',
    modules: ['/react-app.js'],
    packages: ['node_modules/esbuild', 'node_modules/react', 'node_modules/react-dom'],
  },
  '/secure-signals': {
    file: 'secure-signals.html',
    title: 'Secure Signals',
    lead: 'What Google Publisher Tag collects, shown with a mock of it.',
    scripts: ['/tessera.js'],
    modules: ['/secure-signals-page.js'],
  },
  '/tab': {
    file: 'tab.html',
    title: 'A tab',
    lead: '',
    scripts: ['/tessera.js'],
    modules: ['/tab.js'],
    isFrame: true,
  },
  '/compare/tessera': {
    file: 'runtime.html',
    title: 'Tessera',
    lead: '',
    scripts: ['/tessera.js'],
    modules: ['/runtime-tessera.js'],
    isFrame: true,
  },
  '/compare/prebid': {
    file: 'runtime.html',
    title: 'Prebid',
    lead: '',
    scripts: ['/pbjs.js'],
    modules: ['/runtime-uid2-module.js'],
    isFrame: true,
    ...PREBID,
  },
  '/compare/incumbent': {
    file: 'runtime.html',
    title: 'UID2 JavaScript SDK',
    lead: '',
    scripts: ['/incumbent.js'],
    modules: ['/runtime-incumbent.js'],
    isFrame: true,
  },
  '/webview-page': {
    file: 'webview-page.html',
    title: 'The Daily Tessera, in an app',
    lead: '',
    scripts: ['/tessera.js'],
    modules: ['/webview-page.js'],
    isFrame: true,
  },
};

function read(file: string) {
  return readFile(new URL(file, import.meta.url), 'utf8');
}

function escaped(text: string) {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll("'", '&#39;')
    .replaceAll('"', '&quot;');
}

/** Return the lines of a file between `// region NAME` and `// endregion`, without their common indentation. */
async function excerpt(file: string, name: string): Promise<string> {
  const lines = (await read(file)).split('\n');
  const start = lines.findIndex((line) => line.trim() === `// region ${name}`);
  const end = lines.findIndex((line, index) => index > start && line.trim() === '// endregion');
  if (start < 0 || end < 0) throw new Error(`demo: ${file} has no region ${name}`);
  const found = lines.slice(start + 1, end);
  const indent = Math.min(...found.filter(Boolean).map((line) => line.length - line.trimStart().length));
  return found.map((line) => line.slice(indent)).join('\n');
}

/** Replace `{{code FILE NAME}}` with the excerpt, so that the code on a page is the code that runs. */
async function withCode(html: string): Promise<string> {
  let result = html;
  for (const [mark, file, name] of html.matchAll(/\{\{code (\S+) (\S+)\}\}/g)) {
    const code = escaped(await excerpt(file!, name!));
    const shown = `<details class="code"><summary>Code in demo/${file}</summary><pre><code>${code}</code></pre></details>`;
    result = result.replace(mark, () => shown);
  }
  return result;
}

/** Parts that several pages contain: `{{reader}}` is replaced with `reader.html`. */
const PARTS = ['reader', 'faults'];

function nav(current: string) {
  return Object.entries(PAGES)
    .filter(([, { isFrame }]) => !isFrame)
    .map(
      ([path, { title }]) => `<li><a href="${path}"${path === current ? ' aria-current="page"' : ''}>${title}</a></li>`,
    )
    .join('');
}

function cards() {
  return Object.entries(PAGES)
    .filter(([path, { isFrame }]) => !isFrame && path !== '/')
    .map(([path, { title, lead }]) => `<li><a href="${path}">${title}</a><p>${lead}</p></li>`)
    .join('');
}

/** Return whether the packages that a page needs are installed, or can be when it is opened. */
export function canRun(path: string): boolean {
  const { packages = [], installs } = PAGES[path]!;
  return installs
    ? existsSync(`${root + installs}/package-lock.json`)
    : packages.every((name) => existsSync(root + name));
}

const CLONE_ONLY = 'This page needs packages that only a clone of the repository has: git clone, npm ci, npm run demo.';

/** A page that cannot run says this instead. `isWaiting`: it loads again by itself. */
export interface Notice {
  readonly text: string;
  readonly isWaiting?: boolean;
}

/** A page that was installed before waits at most this time for the check of its packages, ms. */
const CHECK_MS = 1_000;

/**
 * Create the function that returns the notice of a page; undefined if the page can run. It installs the packages of a page at the first
 * call for it. A failure is told on each page that needs them.
 *
 * @param run  installs the packages of a folder. Default: `npm ci`, if they are not those of its lock file.
 */
export function createNotices(run: (folder: string) => Promise<void> = install) {
  const running = new Map<string, Promise<Notice | undefined>>();
  /** The pages that show that an install has failed: loaded again, one of them tries once more. */
  const told = new Set<string>();
  const start = (folder: string) => {
    const result = run(folder).then(
      () => undefined,
      ({ message }: Error): Notice => ({ text: `${message}\n\nLoad this page again to try once more.` }),
    );
    running.set(folder, result);
    return result;
  };
  return async (path: string): Promise<Notice | undefined> => {
    const { installs: folder } = PAGES[path]!;
    if (!canRun(path)) return { text: CLONE_ONLY };
    if (!folder) return undefined;
    const waiting: Notice = {
      text: 'The packages of this page are being installed, once. It opens by itself.',
      isWaiting: true,
    };
    if (told.delete(path)) running.delete(folder);
    const late = new Promise<Notice>((resolve) => setTimeout(resolve, CHECK_MS, waiting).unref());
    const notice = await Promise.race([running.get(folder) ?? start(folder), late]);
    if (notice && !notice.isWaiting) told.add(path);
    return notice;
  };
}

/** Return the content of a page, with its parts and its code. */
async function contentOf({ file }: PageInfo): Promise<string> {
  let source = await read(`./page/${file}`);
  for (const part of PARTS) source = source.replace(`{{${part}}}`, await read(`./page/${part}.html`));
  return (await withCode(source)).replace('{{cards}}', cards);
}

/** What a page knows of its operator. */
export interface PageWorld {
  readonly operator: string;
  /** The address of the operator's controls. */
  readonly controls: string;
  /** What `world.js` follows: the setting and the clock. */
  readonly world: object;
}

/**
 * Render a page, or a notice.
 *
 * @param values  the replacements of `{{NAME}}`, other than `{{title}}`; each is escaped.
 */
export async function renderPage(
  path: string,
  { operator, controls, world }: PageWorld,
  values: Readonly<Record<string, string>>,
  notice?: Notice,
): Promise<string> {
  const page = PAGES[path]!;
  const { title, lead, modules = [], scripts = [], isFrame } = page;
  let main = notice ? `<p class="panel notice-text">${escaped(notice.text)}</p>` : await contentOf(page);
  for (const [name, value] of Object.entries({ title, ...values }))
    main = main.replaceAll(`{{${name}}}`, escaped(value));
  const tags = [
    ...scripts.map((src) => `<script${src === '/pbjs.js' ? '' : ' defer'} src="${src}"></script>`),
    ...modules.map((src) => `<script type="module" src="${src}"></script>`),
  ].join('\n    ');
  const top = `<a class="skip" href="#main">Skip to the content</a>
    <header class="site">
      <a class="brand" href="/">Tessera</a>
      <details class="menu"><summary>All pages</summary><nav aria-label="Pages"><ul>${nav(path)}</ul></nav></details>
    </header>
    <p class="notice" id="in-force" role="status" hidden><span></span><button type="button">Back to normal</button></p>`;
  const intro = `<div class="intro"><h1>${title}</h1><p>${lead}</p></div>`;
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>${title}${isFrame ? '' : ' - Tessera'}</title>
    ${notice?.isWaiting ? '<meta http-equiv="refresh" content="2">' : ''}
    <meta name="operator" content="${escaped(operator)}">
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="/page.css">
    <meta name="demo" data-controls="${controls}" content="${escaped(JSON.stringify(world))}">
    <script src="/world.js"></script>
    ${notice ? '' : tags}
  </head>
  <body class="${isFrame ? 'frame' : 'site'}">
    ${isFrame ? '' : top}
    <main id="main">${isFrame ? '' : intro}${main}</main>
    <noscript><p>This page needs JavaScript.</p></noscript>
  </body>
</html>`;
}
