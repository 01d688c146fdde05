/**
 * A page on the scheme of an app, in a real WebKit, with a real `tokenHandler` and a real operator: what such a page has, and what it
 * sends. WKWebView is the same engine on iOS; its rules for cookies differ.
 */

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { root } from '../../build/dist.ts';
import { createOperator } from '../../src/operator/index.ts';
import { listen } from '../../src/operator/node.ts';
import { createClient, tokenHandler } from '../../src/server/index.ts';
import { serveSite } from '../support/browser.ts';
import { areAllRequired } from '../support/engine.ts';
import { firstThatRuns } from '../support/files.ts';

const python = await firstThatRuns(['/usr/bin/python3']);
const xvfb = await firstThatRuns(['/usr/bin/Xvfb']);
const USES = "import gi; gi.require_version('Gtk', '3.0'); gi.require_version('WebKit2', '4.1')";
const isInstalled =
  !!xvfb &&
  !!python &&
  (await promisify(execFile)(python, ['-c', USES]).then(
    () => true,
    () => false,
  ));
// In CI it must be there: `.ci/run` installs it.
if (!isInstalled && areAllRequired)
  throw new Error('expected xvfb, python3-gi and gir1.2-webkit2-4.1, which .ci/run installs');

const startScreen = async (): Promise<string> => {
  const screen = spawn(xvfb!, ['-displayfd', '3', '-screen', '0', '800x600x24'], {
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
  });
  onTestFinished(() => void screen.kill());
  const [bytes] = await once(screen.stdio[3]!, 'data');
  return `:${String(bytes).trim()}`;
};

test.skipIf(!isInstalled)(
  'a page on the scheme of an app has storage and Web Crypto, gets a set from the handler that lists its origin, and refreshes it',
  async () => {
    const origin = 'capacitor://localhost';
    const operator = createOperator({ roles: ['GENERATOR'], refreshFrom: 1, identityExpires: 600 });
    const service = await listen(operator, { port: 0, graceMs: 0 });
    onTestFinished(service.close);
    const sent: Record<string, string | null>[] = [];
    const tokens = tokenHandler({
      client: createClient({ baseUrl: service.url, ...operator.participants[0]! }),
      user: ({ headers }) => {
        sent.push({ origin: headers.get('origin'), site: headers.get('sec-fetch-site') });
        return { email: 'reader@example.com' };
      },
      origins: [origin],
    });
    const handler = await listen({ fetch: async (request) => tokens(request) }, { port: 0, graceMs: 0 });
    onTestFinished(handler.close);
    const site = await serveSite({
      '/': `<!doctype html><title>page</title><script src="/tessera.js"></script><script>
        const session = tessera.createSession({
          baseUrl: '${service.url}',
          provide: async () => {
            const response = await fetch('${handler.url}', { method: 'POST' });
            return response.json();
          },
        });
        const show = (cause) => {
          document.title = JSON.stringify({
            cause, origin: location.origin, persistence: session.state.persistence, subtle: !!crypto.subtle,
          });
        };
        session.on('token', ({ cause }) => show(cause));
        session.on('error', ({ code }) => show(code));
      </script>`,
    });
    const env = { ...process.env, DISPLAY: await startScreen(), WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: '1' };
    const app = spawn(python!, [`${root}test/browser/app-scheme.py`, origin, site.origin], {
      env,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    onTestFinished(() => void app.kill());
    const titles: string[] = [];
    createInterface({ input: app.stdout }).on('line', (line) => titles.push(line));
    const shown = { origin, persistence: 'indexeddb', subtle: true };
    await expect
      .poll(() => titles.filter((title) => title.startsWith('{')).map((title) => JSON.parse(title)))
      .toEqual([
        { cause: 'provide', ...shown },
        { cause: 'refresh', ...shown },
      ]);
    expect(sent).toEqual([{ origin, site: 'cross-site' }]);
  },
);
