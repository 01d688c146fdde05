/** A dedicated worker of module code: no document, no window, and a session all the same. */

import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { expect, test } from 'vitest';
import { createFixture, eventually } from './fixtures.ts';
import type { Teller } from './steps.ts';
import { pageWithWorker, workerWith } from './worker.ts';

/** The entry `tessera-id` as a publisher's bundler makes one file of it. */
const bundled = async (): Promise<string> => {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL('../../dist/session/index.js', import.meta.url))],
    bundle: true,
    format: 'esm',
    write: false,
    logLevel: 'error',
  });
  return outputFiles[0]!.text;
};

const script = (text: string) => () => new Response(text, { headers: { 'content-type': 'text/javascript' } });

export const tellWorkers = (teller: Teller): void => {
  test('a worker imports the module, which leaves every global as it was, and keeps a session that ends without a trace', async () => {
    const { open, openTabs, site, settings, service, setFor } = await createFixture(
      teller.engine,
      {},
      {
        '/with-worker': pageWithWorker('/worker.js'),
        '/worker.js': script(workerWith('/tessera-id.js')),
        '/tessera-id.js': script(await bundled()),
      },
    );
    const [tab] = await openTabs(1);
    const page = await open(`${site.origin}/with-worker`);
    const ask = <T>(expression: string) => page.evaluate<T>(`askWorker(${JSON.stringify(expression)})`);
    const nothingIsLeft = () =>
      eventually(
        'nothing is left',
        () => ask<string[]>('story.left()'),
        ({ length }) => !length,
      );
    expect(await ask('typeof document + typeof window')).toBe('undefinedundefined');
    expect(await ask('story.changed()')).toEqual([]);
    expect(await ask('story.left()')).toEqual([]);

    await ask(`story.start(${JSON.stringify(settings)})`);
    await ask('story.session.ready');
    expect(await ask('story.session.state.persistence')).toBe('indexeddb');
    const { call, token } = await setFor('worker@example.com', 500);
    await ask(`story.session.${call}`);
    const [renewed] = await eventually(
      'the token is rotated, and the tab holds it too',
      async () => [await ask<string | undefined>('story.session.advertisingToken'), await tab!.token()],
      ([one, other]) => one && one !== token && one === other,
    );
    expect(await ask('story.session.getToken()')).toBe(renewed);
    expect(service.calls).toHaveLength(1);
    expect(await ask('story.left()')).toEqual(expect.arrayContaining(['timer', 'channel', 'database', 'online']));
    await ask('story.session.close()');
    await nothingIsLeft();
    expect(await ask('navigator.locks.query().then(({ held }) => held.length)')).toBe(0);

    await ask(`story.start(${JSON.stringify(settings)}, true)`);
    const other = await setFor('other@example.com');
    await ask(`story.session.${other.call}`);
    expect(await ask('story.session.getToken()')).toBe(other.token);
    expect(await ask('story.session.state.persistence')).toBe('memory');
    expect(await tab!.token()).toBe(renewed);
    await ask('story.session.close()');
    await nothingIsLeft();
    expect(await ask('story.changed()')).toEqual([]);
    expect(await ask('story.complaints')).toEqual([]);
  });
};
