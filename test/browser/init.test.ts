/** The files of `tessera init`, served as they are, in a real Chromium. Only the port of the operator is another one. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { root } from '../../build/dist.ts';
import { INSTALL_MS, install } from '../../build/packages.ts';
import { createOperator } from '../../src/operator/index.ts';
import { listen } from '../../src/operator/node.ts';
import { tessera } from '../cli/fixtures.ts';
import { openProfile } from '../support/browser.ts';
import { freePort } from '../support/free-port.ts';

beforeAll(() => install('test/consumers'), INSTALL_MS);

const startOperator = async () => {
  const operator = createOperator({ siteId: 1, roles: ['GENERATOR'] });
  const { url, close } = await listen(operator, { port: 0 });
  onTestFinished(close);
  const { apiKey, clientSecret } = operator.participants[0]!;
  return { TESSERA_BASE_URL: url, TESSERA_API_KEY: apiKey, TESSERA_CLIENT_SECRET: clientSecret };
};

test.each([[[]], [['--express']]])(
  'init %j: the page gets a token, and its console says nothing else',
  async (options) => {
    const folder = await mkdtemp(join(tmpdir(), 'tessera-init-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const env = await startOperator();
    const port = await freePort();
    expect((await tessera(['init', folder, '--port', `${port}`, ...options])).code).toBe(0);
    const page = join(folder, 'index.html');
    await writeFile(page, (await readFile(page, 'utf8')).replace('http://127.0.0.1:8080', env.TESSERA_BASE_URL));
    await mkdir(join(folder, 'node_modules'));
    await symlink(root, join(folder, 'node_modules/tessera-id'), 'dir');
    await symlink(`${root}test/consumers/node_modules/express`, join(folder, 'node_modules/express'), 'dir');
    const server = spawn(process.execPath, ['server.mjs'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] });
    onTestFinished(() => void server.kill());
    const [url] = await once(createInterface({ input: server.stdout }), 'line');
    expect(url).toBe(`http://127.0.0.1:${port}`);

    const tab = await (await openProfile()).newPage();
    const said: string[] = [];
    tab.on('console', (message) => said.push(message.text()));
    tab.on('pageerror', (error) => said.push(`${error}`));
    await tab.goto(url);
    await expect.poll(() => said).toEqual(['new token: 218 characters']);
  },
);
