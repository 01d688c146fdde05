/**
 * The drop-in's script tag: installs `__uid2` and `__euid`. `data-product="uid2"` or `"euid"` on the tag installs only that
 * one, for a page where another script has the other.
 */

import { ownMembers } from '../../token/checks.ts';
import { scriptTag } from '../clobbering.ts';
import { installUid2, type Product } from './index.ts';

const { product: only } = ownMembers<DOMStringMap>(scriptTag?.dataset);
if (only && !/^(uid2|euid)$/.test(only)) throw new TypeError('data-product: expected uid2 or euid, got another value');
for (const product of ['uid2', 'euid'] satisfies Product[]) {
  if (!only || only === product) installUid2(product);
}
