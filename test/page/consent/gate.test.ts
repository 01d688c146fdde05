/** Gates without a CMP: Global Privacy Control, and the combination of gates. */

import { beforeEach, describe, expect, test, vi } from 'vitest';
import { allOf, type ConsentGate, gpcConsent } from '../../../src/page/consent.ts';
import { ask, isolateTests, settle } from './fixtures.ts';

isolateTests();

test.each([
  [true, false],
  [false, true],
  [undefined, true],
  [null, true],
  ['true', false],
  [1, false],
])('Global Privacy Control: %j in the navigator: %s', (control, granted) => {
  vi.stubGlobal('navigator', { globalPrivacyControl: control });
  expect(gpcConsent()(() => {})).toBe(granted);
});

describe('allOf', () => {
  beforeEach(() => void vi.spyOn(console, 'warn').mockImplementation(() => {}));
  const createManualGate = () => {
    let resolve = (_: boolean) => {};
    let reject = (_: Error) => {};
    let change = (_: boolean) => {};
    const gate: ConsentGate = (onChange) => {
      change = onChange;
      return new Promise((...functions) => ([resolve, reject] = functions));
    };
    return {
      gate,
      resolve: (granted: boolean) => resolve(granted),
      reject: () => reject(new Error('broken')),
      change: (granted: boolean) => change(granted),
    };
  };
  const yes: ConsentGate = () => true;
  const no: ConsentGate = () => false;
  const foreign = (value: unknown) => value as boolean;
  /** A gate that calls `onChange` at once and never answers. */
  const changeTo =
    (granted: boolean): ConsentGate =>
    (onChange) => {
      onChange(granted);
      return new Promise(() => {});
    };

  test.each<[what: string, gates: ConsentGate[], granted: boolean]>([
    ['no gates', [], false],
    ['one yes', [yes], true],
    ['two yes', [yes, yes], true],
    ['yes and no', [yes, no], false],
    ['no and yes', [no, yes], false],
    ['no and a gate that never answers', [no, () => new Promise(() => {})], false],
    ['a gate that throws', [yes, () => expect.unreachable()], false],
    ['undefined', [yes, () => foreign(undefined)], false],
    ['null', [yes, () => foreign(null)], false],
    ['1', [yes, () => foreign(1)], false],
    ["'yes'", [yes, () => foreign('yes')], false],
    ['no gates, nested', [allOf(), yes], false],
  ])('answers at once: %s', (_, gates, granted) => expect(allOf(...gates)(() => {})).toBe(granted));

  test('says no as soon as one gate does, yes when all do, and follows every change', async () => {
    const one = createManualGate();
    const other = createManualGate();
    const answers = ask(allOf(yes, one.gate, other.gate));
    one.resolve(false);
    await settle();
    expect(answers).toEqual([false]);
    one.change(true);
    await settle();
    expect(answers).toEqual([false]);
    other.resolve(true);
    await settle();
    expect(answers).toEqual([false, true]);
    other.change(false);
    await settle();
    expect(answers).toEqual([false, true, false]);
  });

  test('ignores a first answer that comes after a withdrawal', async () => {
    const one = createManualGate();
    const answers = ask(allOf(yes, one.gate));
    one.change(false);
    one.resolve(true);
    await settle();
    expect(answers).toEqual([false]);
    one.change(true);
    await settle();
    expect(answers).toEqual([false, true]);
  });

  test('ignores a first refusal that comes after consent', async () => {
    const one = createManualGate();
    const answers = ask(allOf(yes, one.gate));
    one.change(true);
    one.resolve(false);
    await settle();
    expect(answers).toEqual([true]);
  });

  test('treats a gate that fails, or whose value is not true, as a no', async () => {
    for (const value of [undefined, null, 1, 'true', {}]) {
      expect(ask(allOf(yes, changeTo(foreign(value))))).toEqual([false]);
      const later = ask(allOf(yes, () => Promise.resolve(foreign(value))));
      await settle();
      expect(later).toEqual([false]);
    }
    const failing = createManualGate();
    const answers = ask(allOf(yes, failing.gate));
    failing.change(true);
    failing.reject();
    await settle();
    expect(answers.at(-1)).toBe(false);
  });

  test('names the failing gate in the console of the development build', async () => {
    const thrown = new RangeError('jane@example.com');
    const throws = () => {
      throw thrown;
    };
    allOf(yes, throws, () => Promise.reject(thrown), (() => gpcConsent) as never, changeTo(foreign('yes')))(() => {});
    await settle();
    expect(vi.mocked(console.warn).mock.calls).toEqual([
      [`[tessera] allOf: gate 2: failed; this counts as a refusal`, thrown],
      [`[tessera] allOf: gate 4: expected boolean or a promise of one, got a function; this counts as a refusal`],
      [`[tessera] allOf: gate 5: expected boolean or a promise of one, got a string; this counts as a refusal`],
      [`[tessera] allOf: gate 3: failed; this counts as a refusal`, thrown],
    ]);
  });
});
