import { expect, test } from 'vitest';
import { createDigestSet } from '../../src/operator/state/digest-set.ts';

/** A user whose digest is the two words. */
const user = (high: number, low: number): Uint8Array => {
  const bytes = new Uint8Array(32).fill(0xee);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, high);
  view.setUint32(4, low);
  return bytes;
};

/** Numbers that look random and are the same in every run. */
const numbers = (count: number): number[] => {
  let state = 1;
  return Array.from(
    { length: count },
    () => (state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0,
  );
};

test('holds what was added and nothing else, while it grows', () => {
  const set = createDigestSet();
  const words = numbers(20_000);
  for (let at = 0; at < words.length / 2; at++) {
    set.add(user(words[at]!, at + 1));
    set.add(user(words[at]!, at + 1));
  }
  expect(set.size()).toBe(words.length / 2);
  for (let at = 0; at < words.length; at++) expect(set.has(user(words[at]!, at + 1))).toBe(at < words.length / 2);
  // Other users with the same first word.
  expect(set.has(user(words[5]!, 1))).toBe(false);
});

test('tells users apart whose first words are equal, and knows one whose bytes are 0', () => {
  const set = createDigestSet();
  for (let low = 2; low < 1000; low += 2) set.add(user(0xffff_ffff, low));
  for (let low = 2; low < 1000; low++) expect(set.has(user(0xffff_ffff, low))).toBe(low % 2 === 0);
  expect(set.has(user(0, 0))).toBe(false);
  set.add(user(0, 0));
  expect(set.has(user(0, 0))).toBe(true);
});

test('takes 11 to 22 bytes for each user, and at most 32 while it grows', () => {
  const set = createDigestSet();
  const words = numbers(20_000);
  for (const [at, word] of words.entries()) {
    set.add(user(word, at + 1));
    if (at < 1000) continue;
    expect(set.byteLength() / set.size()).toBeGreaterThan(10);
    expect(set.byteLength() / set.size()).toBeLessThan(33);
    // A table of 3/4 users grows over the next sixteenth of its slots.
    const share = (at + 1) / 2 ** Math.floor(Math.log2(at + 1));
    if (!(share >= 1.49 && share < 1.64)) expect(set.byteLength() / set.size()).toBeLessThan(22);
  }
});

test('adds from the middle of a list, and is empty after it was cleared', () => {
  const set = createDigestSet();
  set.add(Uint8Array.from([...user(1, 2).subarray(0, 8), ...user(3, 4).subarray(0, 8)]), 8);
  expect([set.has(user(3, 4)), set.has(user(1, 2)), set.size()]).toEqual([true, false, 1]);
  set.clear();
  expect([set.has(user(3, 4)), set.size()]).toEqual([false, 0]);
});
