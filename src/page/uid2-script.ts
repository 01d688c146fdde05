/**
 * The drop-in's script tag: puts `__uid2` and `__euid` in their places. `data-product="uid2"` or `"euid"` on the tag:
 * only that one, for a page where another script has the other.
 */

import { scriptTag } from './script-url.ts';
import { installUid2, type Product } from './uid2.ts';

const only = scriptTag?.dataset['product'];
for (const product of ['uid2', 'euid'] satisfies Product[]) if (!only || only === product) installUid2(product);
