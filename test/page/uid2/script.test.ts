/** The drop-in's script tag: which globals it installs. */

import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { installUid2, type Uid2 } from '../../../src/page/uid2/index.ts';

afterEach(() => {
  for (const name of ['__uid2', '__euid'] as const) {
    (window[name] as Partial<Uid2> | undefined)?.abort?.();
    Reflect.deleteProperty(window, name);
  }
  vi.restoreAllMocks();
});

const load = async (product?: string) => {
  const tag = document.createElement('script');
  if (product !== undefined) tag.dataset['product'] = product;
  Object.defineProperty(Object.getPrototypeOf(document), 'currentScript', { configurable: true, value: tag });
  vi.resetModules();
  await import('../../../src/page/uid2/script.ts');
};
const installed = () => ['__uid2', '__euid'].filter((name) => name in window);

test.each<[product: string | undefined, globals: string[]]>([
  [undefined, ['__uid2', '__euid']],
  ['', ['__uid2', '__euid']],
  ['uid2', ['__uid2']],
  ['euid', ['__euid']],
])('data-product %j installs %j', async (product, globals) => {
  await load(product);
  expect(installed()).toEqual(globals);
});

test('a member that a link has put on Object.prototype does not count as a product', async () => {
  Object.assign(Object.prototype, { product: 'euid' });
  onTestFinished(() => void Reflect.deleteProperty(Object.prototype, 'product'));
  await load();
  expect(installed()).toEqual(['__uid2', '__euid']);
});

test('another product is refused by name, not ignored', async () => {
  await expect(load('UID2')).rejects.toThrow('data-product: expected uid2 or euid, got another value');
  expect(() => installUid2('UID2' as never)).toThrow('installUid2: product: expected uid2 or euid, got another string');
  expect(installed()).toEqual([]);
});
