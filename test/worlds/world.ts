/** A world: what it changes on the pages of the story, and what it promises instead. */

import type { EngineName } from '../support/engine.ts';
import type { Story } from './page.ts';
import type { Build } from './site.ts';
import type { Step, StepName } from './story.ts';

export interface World {
  /** What it changes. */
  readonly name: string;
  /** Code that runs before the tag. */
  readonly early?: string;
  /** Code that runs after the tag. */
  readonly late?: string;
  /** Markup before the tag, and after it. */
  readonly head?: string;
  readonly body?: string;
  /** Changes the tag, or the module script. */
  readonly tag?: (tag: string, baseUrl: string) => string;
  /** Content Security Policy. Every script of the page has the nonce `n`. */
  readonly policy?: (baseUrl: string) => string;
  /** The page is on an insecure origin. */
  readonly isPlain?: boolean;
  /** The page is a file on a disk. */
  readonly isFile?: boolean;
  /** More routes of the site. */
  readonly routes?: Record<string, (request: Request) => Response | Promise<Response>>;
  /** How the service answers a refresh, where the story does not say it. `nth` counts from 1. */
  readonly service?: (go: () => Promise<Response>, nth: number, request: Request) => Promise<Response>;
  /** How the publisher's server answers a call of `provide`. */
  readonly publisher?: (go: () => Promise<Response>) => Promise<Response>;
  /** What the story waits for comes so much later. */
  readonly lateMs?: number;
  /** What happens before a step. */
  readonly before?: Partial<Record<StepName, Step>>;
  /** What is promised instead of a step. */
  readonly instead?: Partial<Record<StepName, Step>>;
  /** What is promised instead, in every step. */
  readonly promises?: 'memory only' | 'a tab learns of others when it wakes up';
  /** Refreshes and calls of `provide` that it causes. */
  readonly moreRefreshes?: Partial<Record<StepName, number>>;
  readonly moreProvides?: Partial<Record<StepName, number>>;
  /** What calls that change the user reject with: the store may still hold another. */
  readonly rejects?: 'storage_failed';
  /** Its store never answers. */
  readonly isSilent?: boolean;
  /** Codes of errors that it causes. */
  readonly errors?: readonly string[];
  /** What the page's own code throws. */
  readonly thrown?: string;
  /** The builds and engines in which it can be. Default: all. The shell is one of Chromium's browsers. */
  readonly builds?: readonly Build[];
  readonly engines?: readonly (EngineName | 'shell')[];
  /** It affects the whole browser, so it runs while no other world does. */
  readonly isAlone?: boolean;
  /**
   * Where it runs for each change: in `npm test` (with the script tag in the shell), and in CI with these builds in the shell and with
   * the script tag in these whole browsers, and in the oldest Chromium. `npm run worlds` runs every world everywhere, except there.
   */
  readonly in?: readonly Place[];
}

export type Place = 'npm test' | Build | EngineName | 'oldest';

/** Keep the page's only thread busy. `ms`: a number or an expression. */
export const busy = (ms: number | string) =>
  `{ const end = performance.now() + ${ms}; while (performance.now() < end); }`;

/** Run code in both tabs, or in those of the given places. */
export const inTabs =
  (code: string, ...places: (0 | 1)[]): Step =>
  async ({ tabs }: Story) => {
    for (const place of places.length ? places : [0, 1]) await tabs[place]!.evaluate(`void (() => { ${code} })()`);
  };
