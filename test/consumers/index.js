// The packages of this folder that tests import. `consumers()` in ../support/packed.ts installs and loads it.
export { publint } from 'publint';
export { default as webpack } from 'webpack';
