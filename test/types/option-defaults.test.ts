/** As test/page/option-defaults.test.ts, for servers and tests; and that these tests know all options of the package. */

import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { root } from '../../build/dist.ts';
import { settingsOf } from '../../src/mapping/options.ts';
import { createOperator } from '../../src/operator/index.ts';
import { listen } from '../../src/operator/node.ts';
import { createClient, tokenHandler, vitalsHandler } from '../../src/server/index.ts';
import { createTestbed } from '../../src/testing/index.ts';
import { defaultsOf, IN_PAGES, ON_SERVERS } from '../support/documented-defaults.ts';

/** Options without a default that is a value, or with no other than a clock. */
const WITHOUT = ['AdministrationOptions', 'CallOptions', 'DueOptions', 'GenerateOptions', 'MapOptions'];

const clientSecret = Buffer.alloc(32, 1).toString('base64');
const client = (options: object) =>
  createClient({ baseUrl: 'https://operator.example', apiKey: 'key', clientSecret, ...options });

const CONSTRUCTORS: Readonly<Record<keyof typeof ON_SERVERS, (options: never) => unknown>> = {
  ClientOptions: client,
  RetryOptions: (retry) => client({ retry }),
  VitalsHandlerOptions: (options: object) => vitalsHandler({ record: () => {}, ...options }),
  TokenHandlerOptions: (options: object) => tokenHandler({ client: client({}), user: () => null, ...options }),
  // What `createMappings` does before it opens the database.
  MappingsOptions: (options: object) => settingsOf({ client: client({}), database: 'folder', ...options }),
  OperatorOptions: (options) => createOperator(options).close(),
  ListenOptions: async (options: object) => {
    const operator = { fetch: async () => new Response() };
    // Port 8080 may be in use.
    const server = await listen(operator, { port: 0, ...options }).catch(({ code }) => {
      if (code !== 'EADDRINUSE') throw new Error(code);
    });
    await server?.close();
  },
  TestbedOptions: async (options) => (await createTestbed(options)).close(),
  Lifetimes: async (lifetimes) => (await createTestbed({ lifetimes })).close(),
};

test.each(defaultsOf(ON_SERVERS))('%s: the default of %s can be passed: %j', async (name, option, value) => {
  await CONSTRUCTORS[name]({ [option]: value } as never);
});

test('the options of every entry point are among those of the tests of defaults', async () => {
  const surface = await readFile(`${root}test/api/surface.txt`, 'utf8');
  const names = [...surface.matchAll(/: interface (\w+Options)\b/g)].map(([, name]) => name!);
  const { Lifetimes: _, ...own } = ON_SERVERS;
  expect([...new Set(names)].sort()).toEqual([...Object.keys({ ...own, ...IN_PAGES }), ...WITHOUT].sort());
});
