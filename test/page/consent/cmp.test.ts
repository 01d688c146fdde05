/** The listener at a CMP: calls with nothing, and its removal. */

import { describe, expect, test, vi } from 'vitest';
import { gppConsent, tcfConsent } from '../../../src/page/consent.ts';
import { HOUR } from '../../support/clock.ts';
import { encodeGppString, installGpp, installTcf, pingDataOf, TCF } from '../../support/cmp.ts';
import { throwing } from '../../support/throwing.ts';
import { ask, isolateTests, settle } from './fixtures.ts';

isolateTests();

describe.each([
  ['__tcfapi', tcfConsent, installTcf, TCF.granted],
  [
    '__gpp',
    gppConsent,
    (first?: object | null) => installGpp(first ?? undefined),
    pingDataOf(encodeGppString({ usca: { SharingOptOut: 2 } }), [8]),
  ],
] as const)('the listener of %s', (api, consent, installCmp, granted) => {
  /** Calls that a CMP makes when it failed, or before it has data. */
  const empty: unknown[][] = [[], [null], [null, false], [undefined, true], [false, false], [true], ['', true]];

  test('neither throws into the CMP nor decides if it is called without arguments', async () => {
    const cmp = installCmp();
    const answers = ask(consent());
    for (const args of empty) expect(() => cmp.call(...args)).not.toThrow();
    await settle();
    expect(answers).toEqual([]);
    cmp.publish(granted);
    for (const args of empty) expect(() => cmp.call(...args)).not.toThrow();
    await settle();
    expect(answers).toEqual([true]);
  });

  test('is added to a CMP that loads later, although its locator is already in the page', async () => {
    const locator = document.createElement('iframe');
    locator.name = `${api}Locator`;
    document.body.append(locator);
    Object.assign(window, { [locator.name]: locator });
    const answers = ask(consent({ waitMs: 5000 }));
    await settle();
    const cmp = installCmp();
    await vi.advanceTimersByTimeAsync(1000);
    cmp.publish(granted);
    await settle();
    expect(answers).toEqual([true]);
    locator.remove();
    Reflect.deleteProperty(window, locator.name);
  });

  test('is added to a CMP that loads after the gate has refused, which the console says, and its answer is a change', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
    const answers = ask(consent());
    await vi.advanceTimersByTimeAsync(HOUR);
    expect(answers).toEqual([false]);
    expect(warn.mock.calls).toEqual([
      [
        `[tessera] consent: ${api} was not found within 10000 ms: until a consent platform has loaded, this counts as a refusal`,
      ],
    ]);
    const cmp = installCmp();
    await vi.advanceTimersByTimeAsync(1000);
    cmp.publish(granted);
    await settle();
    expect(answers).toEqual([false, true]);
  });

  test('ignores data that comes with success: false', async () => {
    const cmp = installCmp();
    const answers = ask(consent());
    cmp.call({ ...granted, pingData: granted, listenerId: 1 }, false);
    await settle();
    expect(answers).toEqual([]);
  });

  test('is removed on abort, and receives nothing after that', async () => {
    const cmp = installCmp();
    const controller = new AbortController();
    const answers = ask(consent({ signal: controller.signal }));
    cmp.call(null, false);
    expect(cmp.count()).toBe(1);
    controller.abort();
    expect(cmp.count()).toBe(0);
    cmp.publish(granted);
    await settle();
    expect(answers).toEqual([]);
  });

  test('is not added if the signal was aborted before', async () => {
    const cmp = installCmp(granted);
    const answers = ask(consent({ signal: AbortSignal.abort() }));
    await settle();
    expect([cmp.count(), answers]).toEqual([0, []]);
  });

  test('stops looking for a CMP on abort', async () => {
    const controller = new AbortController();
    const answers = ask(consent({ signal: controller.signal }));
    controller.abort();
    await vi.advanceTimersByTimeAsync(200);
    expect(vi.getTimerCount()).toBe(0);
    const cmp = installCmp(granted);
    await vi.advanceTimersByTimeAsync(20_000);
    expect([cmp.count(), answers]).toEqual([0, []]);
  });

  test('does not let errors of the CMP escape', async () => {
    Object.assign(window, {
      [api]: throwing(new Error('broken CMP')),
    });
    const controller = new AbortController();
    const answers = ask(consent({ signal: controller.signal }));
    controller.abort();
    await settle();
    expect(answers).toEqual([]);
  });
});

/** A window above the page: one of another origin throws when anything but its frames, or its address, is read. */
const windowAbove = (api: string, isOwn: boolean, isLocated: boolean) => {
  const asked: unknown[] = [];
  const refuse = throwing(new DOMException('Blocked a frame', 'SecurityError'));
  const members: Record<string, unknown> = {
    location: isOwn ? { href: 'https://page.example/' } : Object.defineProperty({}, 'href', { get: refuse }),
    frames: isLocated ? { [`${api}Locator`]: {} } : {},
    postMessage: (message: unknown) => asked.push(message),
  };
  const get = (_: object, name: string) => {
    return name in members || isOwn ? members[name] : refuse();
  };
  return { above: new Proxy({}, { get }), asked };
};

test.each([
  ['another origin', false, 5_000],
  ['the page’s own origin', true, 0],
])('a CMP in a window of %s is asked as soon as it counts', async (_, isOwn, afterMs) => {
  const { above, asked } = windowAbove('__tcfapi', isOwn, true);
  vi.stubGlobal('parent', above);
  const answers = ask(tcfConsent({ waitMs: 5_000 }));
  if (afterMs) await vi.advanceTimersByTimeAsync(afterMs - 1);
  expect(asked).toHaveLength(isOwn ? 1 : 0);
  await vi.advanceTimersByTimeAsync(200);
  expect([asked.length, answers]).toEqual([1, []]);
});

test('a CMP of the page that loads within waitMs counts, not the one of a page of another origin that embeds it', async () => {
  const { above, asked } = windowAbove('__tcfapi', false, true);
  vi.stubGlobal('parent', above);
  const answers = ask(tcfConsent());
  await vi.advanceTimersByTimeAsync(5_000);
  const cmp = installTcf();
  await vi.advanceTimersByTimeAsync(1_000);
  cmp.publish(TCF.refused);
  await vi.advanceTimersByTimeAsync(HOUR);
  expect([asked, answers]).toEqual([[], [false]]);
});

test.each([
  ['its own window', window],
  ['an object', {}],
])('on a framed page whose variable `parent` holds %s, a CMP that loads later is found', async (_, parent) => {
  vi.stubGlobal('parent', parent);
  vi.stubGlobal('top', {});
  const answers = ask(tcfConsent());
  await vi.advanceTimersByTimeAsync(1000);
  const cmp = installTcf();
  await vi.advanceTimersByTimeAsync(1000);
  cmp.publish(TCF.granted);
  await settle();
  expect(answers).toEqual([true]);
});

test('a TCF listener is removed if the gate was aborted before the CMP named the listener', async () => {
  const cmp = installTcf(null);
  const controller = new AbortController();
  const answers = ask(tcfConsent({ signal: controller.signal }));
  controller.abort();
  expect(cmp.count()).toBe(1);
  cmp.publish(TCF.granted);
  await settle();
  expect([cmp.count(), answers]).toEqual([0, []]);
});
