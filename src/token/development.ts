/** Which build this is, for `session/` and `page/` only: servers and the command line always have full messages. */

/** The production build defines it (`vite.config.ts`), so that the bundler drops what only development needs. */
declare const __TESSERA_PRODUCTION__: true | undefined;

/** True in the development build, and in the source. */
export const isDevelopment = typeof __TESSERA_PRODUCTION__ === 'undefined';
