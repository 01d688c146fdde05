/** Runners that are not installed: their examples run in test/testing/. */

declare module '@playwright/test' {
  // biome-ignore lint/suspicious/noExplicitAny: not installed.
  export const expect: any;
  // biome-ignore lint/suspicious/noExplicitAny: not installed.
  export const test: any;
}
