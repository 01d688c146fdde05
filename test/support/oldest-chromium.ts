/**
 * The oldest Chromium that README.md names, a headless shell for Linux. Its package (44 MB) is installed on first use, see
 * build/packages.ts.
 */

import { access, readFile, rename, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { brotliDecompress } from 'node:zlib';
import { type Browser, chromium } from 'playwright-core';
import { root } from '../../build/dist.ts';
import { install } from '../../build/packages.ts';
import { launchOptions } from './chromium.ts';

/** Unpack the browser once; returns its path. The package itself would also unpack libraries of its own, for Amazon's Linux. */
const unpack = async (): Promise<string> => {
  const folder = `${root}test/oldest/node_modules`;
  const path = `${folder}/.chromium`;
  const isThere = await access(path).then(
    () => true,
    () => false,
  );
  if (isThere) return path;
  const packed = await readFile(`${folder}/chrome-aws-lambda/bin/chromium.br`);
  await writeFile(`${path}.new`, await promisify(brotliDecompress)(packed), { mode: 0o755 });
  await rename(`${path}.new`, path);
  return path;
};

/** @throws if the package cannot be installed, or the browser does not run on this machine. */
export const launchOldest = async (): Promise<Browser> => {
  if (process.platform !== 'linux' || process.arch !== 'x64')
    throw new Error(`the oldest Chromium: expected Linux on x64, got ${process.platform} on ${process.arch}`);
  await install('test/oldest');
  return chromium.launch({ ...(await launchOptions()), executablePath: await unpack() });
};
