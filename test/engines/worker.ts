/** A session in a dedicated module worker, which has neither document nor window. */

import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { expect, test } from 'vitest';
import { createFixture, eventually } from './fixtures.ts';
import type { SuiteContext } from './steps.ts';
import { pageWithWorker, workerWith } from './test-worker.ts';

/** The entry `tessera-id`, bundled into one file as by a publisher. */
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

export const testWorker = (suite: SuiteContext): void => {
  test('a worker imports the module, which changes no global, and runs a session that leaves nothing behind', async () => {
    const { open, openTabs, site, settings, service, setFor } = await createFixture(
      suite.engine,
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
    const expectNothingLeft = () =>
      eventually(
        'nothing is left',
        () => ask<string[]>('harness.left()'),
        ({ length }) => !length,
      );
    expect(await ask('typeof document + typeof window')).toBe('undefinedundefined');
    expect(await ask('harness.changed()')).toEqual([]);
    expect(await ask('harness.left()')).toEqual([]);

    await ask(`harness.start(${JSON.stringify(settings)})`);
    await ask('harness.session.ready');
    expect(await ask('harness.session.state.persistence')).toBe('indexeddb');
    const { call, token } = await setFor('worker@example.com', 500);
    await ask(`harness.session.${call}`);
    const [renewed] = await eventually(
      'the token is rotated, and the tab holds it too',
      async () => [await ask<string | undefined>('harness.session.advertisingToken'), await tab!.token()],
      ([one, other]) => one && one !== token && one === other,
    );
    expect(await ask('harness.session.getToken()')).toBe(renewed);
    expect(service.calls).toHaveLength(1);
    expect(await ask('harness.left()')).toEqual(expect.arrayContaining(['timer', 'channel', 'database', 'online']));
    await ask('harness.session.close()');
    await expectNothingLeft();
    expect(await ask('navigator.locks.query().then(({ held }) => held.length)')).toBe(0);

    await ask(`harness.start(${JSON.stringify(settings)}, true)`);
    const other = await setFor('other@example.com');
    await ask(`harness.session.${other.call}`);
    expect(await ask('harness.session.getToken()')).toBe(other.token);
    expect(await ask('harness.session.state.persistence')).toBe('memory');
    expect(await tab!.token()).toBe(renewed);
    await ask('harness.session.close()');
    await expectNothingLeft();
    expect(await ask('harness.changed()')).toEqual([]);
    expect(await ask('harness.errors')).toEqual([]);
  });
};
