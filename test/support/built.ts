/** Global setup for tests of the built files: builds `dist/` unless it is up to date, and starts one Chromium for all of them. */

import type { TestProject } from 'vitest/node';
import { ensureDist } from '../../build/dist.ts';
import { launchShared } from './chromium.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** WebSocket endpoint of the shared browser, for `openProfile`. */
    chromiumAt: string;
  }
}

export default async ({ provide }: TestProject): Promise<() => Promise<void>> => {
  await ensureDist();
  const server = await launchShared();
  provide('chromiumAt', server.wsEndpoint());
  return () => server.close();
};
