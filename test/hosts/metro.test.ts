/** examples/expo with the packed package: Metro bundles it for both platforms. React Native itself and Expo are left out. */

import { cp, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { root } from '../../build/dist.ts';
import { INSTALL_MS, install } from '../../build/packages.ts';
import { installPacked, type User } from '../support/packed.ts';

const packages = `${root}test/hosts/node_modules`;

/** Metro, as far as it is used: it is installed on first use, so `tsc` does not see its types. */
interface Metro {
  loadConfig(options: object, defaults: object): Promise<object>;
  runBuild(config: object, options: object): Promise<{ readonly code: string }>;
}

interface Context {
  resolveRequest(context: Context, name: string, platform: string): object;
}

let user: User;
let metro: Metro;

beforeAll(async () => {
  await install('test/hosts');
  user = await installPacked([]);
  metro = (await import(/* @vite-ignore */ pathToFileURL(`${packages}/metro/src/index.js`).href)).default;
  for (const file of ['index.ts', 'App.tsx']) await cp(`${root}examples/expo/${file}`, join(user.folder, file));
  // Metro follows no links out of the project.
  const modules = join(user.folder, 'node_modules');
  await rm(join(modules, '@noble/ciphers'));
  await cp(`${root}node_modules/@noble/ciphers`, join(modules, '@noble/ciphers'), { recursive: true });
  await mkdir(join(modules, '@babel'), { recursive: true });
  // Every app of React Native has these.
  for (const name of ['@babel/runtime', 'metro-runtime'])
    await cp(`${packages}/${name}`, join(modules, name), { recursive: true });
}, INSTALL_MS);

afterAll(() => user.remove());

test.each(['android', 'ios'])(
  'Metro bundles the example for %s, with the entry of the package and what decrypts where there is no Web Crypto',
  async (platform) => {
    const config = await metro.loadConfig(
      { cwd: user.folder, projectRoot: user.folder, resetCache: true, 'max-workers': 1 },
      {
        projectRoot: user.folder,
        watchFolders: [`${packages}/metro-runtime`],
        reporter: { update: () => {} },
        resolver: {
          // Every app of React Native has these.
          resolveRequest: (context: Context, name: string, platform: string) =>
            /^(expo|react)(-|\/|$)/.test(name) ? { type: 'empty' } : context.resolveRequest(context, name, platform),
        },
        transformer: { babelTransformerPath: `${packages}/@react-native/metro-babel-transformer/src/index.js` },
      },
    );
    const { code } = await metro.runBuild(config, { entry: 'index.ts', platform, dev: false, minify: false });
    expect(code).toContain('/v2/token/refresh');
    expect(code).toContain('aes-gcm');
  },
);
