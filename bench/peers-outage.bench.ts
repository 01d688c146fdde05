/**
 * How long a page is without a valid token because of an outage, this runtime and its peers: the page "Side by side" of the demo, on
 * which a second is a minute for operator and clients. All begin with a new token, and the outage begins at once.
 *
 * The UID2 JavaScript SDK takes part if TESSERA_INCUMBENT is the path of a copy of its script.
 */

import type { Browser, Page } from 'playwright-core';
import { install } from '../build/packages.ts';
import { startDemo } from '../demo/main.ts';
import type { Fault } from '../demo/world.ts';
import { type Measurement, median, sleep } from './measure.ts';
import { launchBrowser } from './support/browser.ts';

const ROUNDS = 3;
/** How long the clients may take to have a token, ms. */
const START_MS = 60_000;

/** So long after an outage every client has a token again, s: their longest pauses are five minutes. */
const AFTER_S = 15;

const OUTAGES: readonly (readonly [fault: Fault, seconds: number])[] = [
  ['503', 30],
  ['503', 60],
  ['offline', 45],
  ['429', 45],
];

/** What one client did in an outage: its time without a valid token, s, and the refreshes that it sent. */
interface Suffered {
  readonly withoutS: number;
  readonly refreshes: number;
}

/** The clients that ran, by name. */
type All = ReadonlyMap<string, Suffered>;

const choose = (page: Page, fault: Fault) => page.locator(`input[name=fault][value="${fault}"]`).dispatchEvent('click');

export const measureOutage = async (browser: Browser, fault: Fault, seconds: number): Promise<All> => {
  const demo = await startDemo({ port: 0 });
  try {
    const page = await browser.newPage();
    await page.goto(`${demo.url}/compare`);
    // Prebid makes empty frames of its own.
    const frames = () => page.frames().filter((frame) => frame.url().startsWith(`${demo.url}/compare/`));
    const areValid = async () => {
      const now = await Promise.all(frames().map((frame) => frame.innerText('#now').catch(() => '')));
      return now.length > 1 && now.every((text) => text === 'a valid token');
    };
    for (const end = Date.now() + START_MS; !(await areValid()); await sleep(100))
      if (Date.now() > end) throw new Error('peers-outage: expected a token in every frame');
    await choose(page, fault);
    await sleep(seconds * 1000);
    await choose(page, 'none');
    await sleep(AFTER_S * 1000);
    const all = new Map<string, Suffered>();
    for (const frame of frames()) {
      const { none, expired } = await frame.evaluate<{ none: number; expired: number }>('measured');
      const name = await (await frame.frameElement()).getAttribute('title');
      const sent = page.locator('#counts dt', { hasText: `${name}: refreshes sent` }).locator('+ dd');
      const refreshes = Number(await sent.innerText());
      all.set(await frame.innerText('#title'), { withoutS: (none + expired) / 1000, refreshes });
    }
    await page.close();
    return all;
  } finally {
    await demo.close();
  }
};

export const measure = async (): Promise<Measurement[]> => {
  await install('demo/prebid');
  const { browser, engine } = await launchBrowser();
  try {
    const rounds = await Promise.all(
      OUTAGES.map(async ([fault, seconds]) => {
        const measured: All[] = [];
        while (measured.length < ROUNDS) measured.push(await measureOutage(browser, fault, seconds));
        return { what: `${fault} for ${seconds} s`, measured };
      }),
    );
    return rounds.flatMap(({ what, measured }) =>
      [...measured[0]!.keys()].map((name) => {
        const all = measured.map((one) => one.get(name)!.withoutS);
        return {
          what: `time without a valid token, ${what}, ${name}`,
          value: median(all),
          unit: 's',
          beside: `${Math.min(...all).toFixed(1)} to ${Math.max(...all).toFixed(1)} s in ${ROUNDS} rounds; a second is a minute for the clients; ${engine}`,
        };
      }),
    );
  } finally {
    await browser.close();
  }
};
