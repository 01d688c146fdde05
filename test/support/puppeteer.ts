/** A puppeteer-core page of any browser, as a {@link Tab}. */

import type { Page } from 'puppeteer-core';
import type { Tab } from './engine.ts';

export const tabOf = (page: Page): Tab => {
  const errors: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(message.text());
  });
  page.on('pageerror', (error) => errors.push(String(error)));
  return {
    errors,
    goto: async (url) => {
      await page.goto(url);
    },
    evaluate: <T>(expression: string) => page.evaluate(expression) as Promise<T>,
    close: () => page.close(),
  };
};
