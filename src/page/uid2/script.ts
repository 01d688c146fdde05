/** The drop-in's script tag: `__uid2` and `__euid`, or, where another script has the other, only that of `data-product`. */

import { dataOf } from '../clobbering.ts';
import { installOnPage } from './install.ts';
import type { Product } from './types.ts';

const products: readonly Product[] = ['uid2', 'euid'];
const only = dataOf('product') as Product | undefined;
if (only && !products.includes(only)) throw new TypeError('data-product: expected uid2 or euid, got another value');
for (const product of products) {
  if (!only || only === product) installOnPage(product);
}
