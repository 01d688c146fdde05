/**
 * The drop-in's script tag: installs `__uid2` and `__euid`. `data-product="uid2"` or `"euid"` on the tag installs only that
 * one, for a page where another script has the other.
 */

import { dataOf } from '../clobbering.ts';
import { installOnPage } from './install.ts';
import type { Product } from './types.ts';

const only = dataOf('product');
if (only && !/^(uid2|euid)$/.test(only)) throw new TypeError('data-product: expected uid2 or euid, got another value');
for (const product of ['uid2', 'euid'] satisfies Product[]) {
  if (!only || only === product) installOnPage(product);
}
