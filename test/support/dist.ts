/** Global setup for tests that start the built command: builds `dist/` unless it is up to date. */

export { ensureDist as default } from '../../build/dist.ts';
