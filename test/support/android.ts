/**
 * The Android app of test/hosts/android/: `hosts/android/TesseraHost.kt`, compiled with stubs of the Android classes that it uses, and
 * run on a JVM. Between it and a page in Chromium, this file does what Android's WebView does.
 */

import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { access, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import { root } from '../../build/dist.ts';
import { install } from '../../build/packages.ts';
import { blocks } from '../docs/blocks.ts';
import { areAllRequired } from './engine.ts';
import { firstThatRuns } from './files.ts';

const RIG = 'test/hosts/android';
const KOTLIN = `${root}test/hosts/node_modules/kotlin-compiler`;
/** `org.json` of Android 10, in Debian's package libandroid-json-java. */
const JSON_JAR = '/usr/share/java/com.android.json.jar';

const java = (await firstThatRuns(['/usr/bin/java', `${process.env['JAVA_HOME'] ?? ''}/bin/java`])) ?? '';
const hasJson = await access(JSON_JAR).then(
  () => true,
  () => false,
);

/** What must be installed for the tests of the app; undefined if nothing. */
export const missing =
  [!java && 'Java 17 (default-jre-headless)', !hasJson && 'org.json of Android (libandroid-json-java)']
    .filter(Boolean)
    .join(', ') || undefined;

// In CI it must be there: `.ci/run` installs it.
if (missing && areAllRequired) throw new Error(`expected what .ci/run installs, missing: ${missing}`);

/** The Kotlin of the documentation, as one file: each block is the body of a function. */
const documented = `import android.webkit.WebView
import id.tessera.host.*

${blocks
  .filter(({ language }) => language === 'kotlin')
  .map(
    ({ code }, index) =>
      `fun block${index}(webView: WebView, storage: TesseraStorage, listener: TesseraListener, response: String) {\n${code}}\n`,
  )
  .join('\n')}`;

/** Compile the app, and the Kotlin of the documentation; returns the folder of the classes. An unchanged app is compiled once. */
export const compileApp = async (): Promise<string> => {
  await install('test/hosts');
  const stubs = (await readdir(root + RIG)).filter((name) => name.endsWith('.kt')).map((name) => `${RIG}/${name}`);
  const files = ['hosts/android/TesseraHost.kt', ...stubs].map((name) => root + name);
  const hash = createHash('sha256')
    .update(await readFile(`${root}test/hosts/package-lock.json`))
    .update(documented);
  for (const file of files) hash.update(await readFile(file));
  const folder = `${root}test-output/android/${hash.digest('hex').slice(0, 16)}`;
  const isCompiled = await access(folder).then(
    () => true,
    () => false,
  );
  if (isCompiled) return folder;
  const building = `${folder}-${process.pid}`;
  await mkdir(building, { recursive: true });
  await writeFile(`${building}/Documented.kt`, documented);
  const compiler = ['-cp', `${KOTLIN}/lib/kotlin-compiler.jar`, 'org.jetbrains.kotlin.cli.jvm.K2JVMCompiler'];
  const options = ['-kotlin-home', KOTLIN, '-no-reflect', '-Werror', '-cp', JSON_JAR, '-d', building];
  await promisify(execFile)(java, [
    ...['-Xmx1g', '-cp', `${KOTLIN}/lib/kotlin-preloader.jar`, 'org.jetbrains.kotlin.preloading.Preloader'],
    ...[...compiler, ...options, ...files, `${building}/Documented.kt`],
  ]);
  // Another process may have compiled the same in the meantime.
  await rename(building, folder).catch(() => rm(building, { recursive: true }));
  return folder;
};

/** What the app has done: told its owner of a token, or asked for a set. */
interface AppEvent {
  readonly event: 'token' | 'needsTokens';
  readonly value?: string | null;
}

/** What the app is started with. */
export interface AppOptions {
  readonly baseUrl: string;
  /** The origin of the pages. */
  readonly origin: string;
  readonly owner: 'APP' | 'PAGE';
}

/** Run the app until the test ends. */
export const startAndroidApp = async (options: AppOptions) => {
  const classes = await compileApp();
  const path = [classes, JSON_JAR, `${KOTLIN}/lib/kotlin-stdlib.jar`].join(':');
  const app = spawn(java, ['-Xmx128m', '-cp', path, 'rig.RigKt'], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => app.once('exit', resolve));
  onTestFinished(async () => {
    app.stdin.end();
    await ended;
  });

  const events: AppEvent[] = [];
  const log: string[] = [];
  /** Webview -> its page in Chromium. */
  const shown = new Map<string, Page>();
  const pending = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  /** Send a message of the app to a page, unless that page has been left. */
  const deliver = async (name: string, text: string) => {
    const page = shown.get(name.split('/')[0]!);
    const expression = `if (globalThis.pageName === ${JSON.stringify(name)})
      globalThis.tesseraHost.onmessage?.(new MessageEvent('message', { data: ${JSON.stringify(text)} }))`;
    await page?.evaluate(expression).catch(() => {}); // the page is being left
  };
  createInterface({ input: app.stdout }).on('line', (line) => {
    const said = JSON.parse(line);
    if (said.page) void deliver(said.page, said.text);
    if (said.event) events.push(said);
    if (said.log) log.push(said.log);
    const waiting = pending.get(said.done);
    if (said.error === undefined) waiting?.resolve(said.value);
    else waiting?.reject(new Error(said.error));
  });
  let count = 0;
  /** Carry out a command of Rig.kt in the app; returns its value. */
  const call = (command: string, more: object | string = {}): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const number = count++;
      pending.set(number, { resolve, reject });
      const members = typeof more === 'string' ? { text: more } : more;
      app.stdin.write(`${JSON.stringify({ do: command, number, ...members })}\n`);
    });
  await call('start', options);

  return {
    events,
    log,
    call,
    /** End the app and start it again, with what it has stored. Its webviews are gone. */
    restart: async () => {
      shown.clear();
      await call('start', options);
    },
    token: () => call('token'),
    stored: async () => JSON.parse(`${(await call('stored')) ?? null}`),
    /** Make a tab a webview of the app. The object exists when the first script of each page of the origin runs. */
    attach: async (page: Page, name: string): Promise<void> => {
      shown.set(name, page);
      await page.exposeBinding('postToApp', ({ frame }, pageName: string, text: string) => {
        const { origin } = new URL(frame.url());
        return call('message', { view: name, page: pageName, text, origin, isMainFrame: frame === page.mainFrame() });
      });
      await page.addInitScript(`if (location.origin === ${JSON.stringify(options.origin)}) {
        const pageName = globalThis.pageName = ${JSON.stringify(name)} + '/' + Math.random();
        globalThis.tesseraHost = { onmessage: null, postMessage: (text) => void postToApp(pageName, text) };
      }`);
      await call('open', name);
    },
  };
};
