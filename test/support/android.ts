/** Runs the app of `demo/android.ts`. Between it and a page in Chromium, this file does what Android's WebView does. */

import type { Page } from 'playwright-core';
import { compileApp as compile, missingForApp, runApp, runContract, type Said } from '../../demo/android.ts';
import { blocks } from '../docs/blocks.ts';
import { areAllRequired } from './engine.ts';
import { firstThatRuns } from './files.ts';

/** What must be installed for the tests of the app; undefined if nothing. */
export const missing = (await firstThatRuns([process.execPath])) ? missingForApp() : 'Java, which is hidden';

// In CI it must be there: `.ci/run` installs it.
if (missing && areAllRequired) throw new Error(`expected what .ci/run installs, missing: ${missing}`);

const documented = blocks.filter(({ language }) => language === 'kotlin');

/** The Kotlin of the documentation: a block that imports is a file of its own, each other the body of a function. */
const files = documented.flatMap(({ code }, index) =>
  code.startsWith('import ') ? [`package block${index}\n\n${code}`] : [],
);

const functions = `import android.app.*
import android.content.Context
import android.os.Bundle
import android.webkit.WebView
import com.getcapacitor.BridgeActivity
import id.tessera.host.*
import kotlin.concurrent.thread

class App : Application() {
  lateinit var host: TesseraHost
}

fun tokensOfTheUser(): String = TODO()

${documented
  .map(({ code }, index) =>
    code.startsWith('import ')
      ? ''
      : `suspend fun block${index}(context: Context, webView: WebView, response: String) {\n${code}}\n`,
  )
  .join('\n')}`;

/** Compile the app, and the Kotlin of the documentation; returns the folder of the classes. */
const compileApp = (): Promise<string> => compile([functions, ...files]);

interface AppEvent {
  readonly event: 'token' | 'needsTokens';
  readonly value?: string | null;
}

export interface AppOptions {
  readonly baseUrl: string;
  readonly origin: string;
  readonly owner: 'APP' | 'PAGE';
  /** Apps with one key have one storage. */
  readonly key?: string;
}

/** Run the contract of the hosts on a JVM; returns its cases as they were carried out. */
export const contractOnJvm = async (file: string): Promise<string> => runContract(await compileApp(), file);

/** A JVM with the app, which receives what the app says. */
let jvm: (ReturnType<typeof runApp> & { hear: (said: Said) => void }) | undefined;

/** Compile the app, and start the JVM of a test file; returns the function that ends it. */
export const startJvm = async (): Promise<() => Promise<void>> => {
  const started = { ...runApp(await compileApp(), (said) => started.hear(said)), hear: (_: Said) => {} };
  jvm = started;
  return started.stop;
};

/** Start the app, with empty storage and the true clock, in the JVM of the file. */
export const startAndroidApp = async (options: AppOptions) => {
  const events: AppEvent[] = [];
  const log: string[] = [];
  /** Webview -> its page in Chromium. */
  const shown = new Map<string, Page>();
  /** Send a message of the app to a page, unless that page has been left. */
  const deliver = async (name: string, text: string) => {
    const page = shown.get(name.split('/')[0]!);
    const expression = `if (globalThis.pageName === ${JSON.stringify(name)})
      globalThis.tesseraHost.onmessage?.(new MessageEvent('message', { data: ${JSON.stringify(text)} }))`;
    await page?.evaluate(expression).catch(() => {}); // the page is being left
  };
  const { call } = jvm!;
  jvm!.hear = ({ page, text, event, value, log: line }) => {
    if (page) void deliver(page, `${text}`);
    if (event) events.push({ event, ...(value !== undefined && { value }) });
    if (line) log.push(line);
  };
  await call('store', { text: null });
  await call('storage', '');
  await call('ahead', { ms: 0 });
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
