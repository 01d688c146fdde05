/** Consent gates: over CMPs that talk as the specifications say, and over a real session and a real operator. */

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { allOf, type ConsentGate, gpcConsent, gppConsent, tcfConsent } from '../../src/page/consent.ts';
import type { Store } from '../../src/session/index.ts';
import { memoryStore } from '../../src/session/index.ts';
import { restoreGlobals } from '../session/fixtures.ts';
import { installGpp, installTcf, removeCmps, TCF } from '../support/cmp.ts';
import { createLifeFixture, MINUTE, names, until, useFakeClock } from '../support/fixtures.ts';

beforeEach(() => void useFakeClock());
afterEach(() => {
  restoreGlobals();
  removeCmps();
});

/** What a gate says, in order; `first` is what it returned, where that was no promise. */
const ask = (gate: ConsentGate) => {
  const said: boolean[] = [];
  const answer = gate((granted) => said.push(granted));
  if (typeof answer === 'boolean') said.push(answer);
  else answer.then((granted) => said.push(granted));
  return said;
};
const { rest } = createLifeFixture();

describe('TCF', () => {
  const decisions: [what: string, options: Parameters<typeof tcfConsent>[0], data: object, granted: boolean][] = [
    ['GDPR does not apply', {}, TCF.elsewhere, true],
    ['GDPR does not apply, UID2', { name: 'uid2' }, TCF.elsewhere, true],
    ['GDPR does not apply, EUID', { name: 'euid' }, TCF.elsewhere, false],
    ['GDPR applies, UID2, all consents', { name: 'uid2' }, TCF.yes(), false],
    ['GDPR applies, EUID, purpose 1 and vendor 21', { name: 'euid' }, TCF.yes(), true],
    ['GDPR applies, EUID, another vendor', { name: 'euid' }, TCF.yes([1], [7]), false],
    ['GDPR applies, purpose 1', {}, TCF.yes([1], []), true],
    ['GDPR applies, no purpose', {}, TCF.yes([], [21]), false],
    ['GDPR applies, the vendor', { vendorId: 7 }, TCF.yes([1], [7]), true],
    ['GDPR applies, not the vendor', { vendorId: 7 }, TCF.yes([1], [21]), false],
    ['GDPR applies, more purposes asked than given', { purposes: [1, 4] }, TCF.yes([1, 3]), false],
    ['GDPR applies, all purposes asked', { purposes: [1, 4] }, TCF.yes([1, 4]), true],
    ['the CMP does not know whether GDPR applies', {}, { eventStatus: 'tcloaded' }, false],
  ];

  test.each(decisions)('%s', async (_, options, data, granted) => {
    const cmp = installTcf();
    const said = ask(tcfConsent(options));
    await rest();
    expect(said).toEqual([]);
    cmp.tell(data);
    await rest();
    expect(said).toEqual([granted]);
  });

  test('a choice of an earlier visit is known at once, without a promise', () => {
    installTcf(TCF.yes([1], [], 'tcloaded'));
    expect(tcfConsent()(() => {})).toBe(true);
  });

  test('the dialog shown again changes nothing until it is answered; failures are no answers', async () => {
    const cmp = installTcf();
    const said = ask(tcfConsent());
    cmp.tell(TCF.yes());
    cmp.tell(TCF.shown);
    cmp.fail();
    await rest();
    expect(said).toEqual([true]);
    cmp.tell(TCF.yes([]));
    cmp.tell(TCF.yes([]));
    await rest();
    expect(said).toEqual([true, false]);
  });

  test('a change that follows the first answer at once is heard after it', async () => {
    const cmp = installTcf();
    const said = ask(tcfConsent());
    cmp.tell(TCF.yes());
    cmp.tell(TCF.yes([]));
    await rest();
    expect(said).toEqual([true, false]);
  });

  test('a CMP that comes late is found', async () => {
    const said = ask(tcfConsent({ waitMs: 5000 }));
    await vi.advanceTimersByTimeAsync(4000);
    expect(said).toEqual([]);
    installTcf(TCF.yes());
    await vi.advanceTimersByTimeAsync(200);
    expect(said).toEqual([true]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('a CMP that never comes is no consent, after the time given', async () => {
    const said = ask(tcfConsent({ waitMs: 5000 }));
    await vi.advanceTimersByTimeAsync(4500);
    expect(said).toEqual([]);
    await vi.advanceTimersByTimeAsync(1000);
    expect(said).toEqual([false]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('aborted, it takes its listener back, or looks no more', async () => {
    const waiting = new AbortController();
    ask(tcfConsent({ signal: waiting.signal }));
    waiting.abort();
    await vi.advanceTimersByTimeAsync(200);
    expect(vi.getTimerCount()).toBe(0);

    const cmp = installTcf();
    const listening = new AbortController();
    const said = ask(tcfConsent({ signal: listening.signal }));
    expect(cmp.count()).toBe(1);
    listening.abort();
    expect(cmp.count()).toBe(0);
    cmp.tell(TCF.yes());
    await rest();
    expect(said).toEqual([]);
  });
});

describe('GPP', () => {
  const ready = (applicableSections: number[], parsedSections: object = {}) => ({
    signalStatus: 'ready',
    applicableSections,
    parsedSections,
  });
  const usnat = (more: object = {}, gpc = false) => ({
    usnat: [
      {
        Version: 1,
        SaleOptOutNotice: 1,
        SaleOptOut: 2,
        SharingNotice: 1,
        SharingOptOut: 2,
        TargetedAdvertisingOptOut: 2,
        KnownChildSensitiveDataConsents: [0, 0],
        MspaCoveredTransaction: 1,
        ...more,
      },
      { SubsectionType: 1, Gpc: gpc },
    ],
  });
  const flat = ({ usnat: [core, gpc] }: ReturnType<typeof usnat>) => ({
    usnatv1: { ...core, GpcSegmentType: 1, Gpc: (gpc as { Gpc: boolean }).Gpc },
  });
  const eu = (PurposeConsents: boolean[], VendorConsents: number[]) => ({
    tcfeuv2: [{ Version: 2, PurposeConsents, VendorConsents }, { SegmentType: 3 }],
  });

  const decisions: [what: string, options: Parameters<typeof gppConsent>[0], ping: object, granted: boolean][] = [
    ['no section applies', {}, ready([-1]), true],
    ['US, nothing refused', {}, ready([7], usnat()), true],
    ['US, sale refused', {}, ready([7], usnat({ SaleOptOut: 1 })), false],
    ['US, sharing refused', {}, ready([7], usnat({ SharingOptOut: 1 })), false],
    ['US, targeted advertising refused', {}, ready([7], usnat({ TargetedAdvertisingOptOut: 1 })), false],
    ['US, a child without consent', {}, ready([7], usnat({ KnownChildSensitiveDataConsents: [0, 1] })), false],
    ['US, Global Privacy Control', {}, ready([7], usnat({}, true)), false],
    ['US, one flat object, nothing refused', {}, ready([7], flat(usnat())), true],
    ['US, one flat object, Global Privacy Control', {}, ready([7], flat(usnat({}, true))), false],
    ['US, a state, sale refused', {}, ready([8], { usca: [{ SaleOptOut: 1 }] }), false],
    ['US, the CMP does not show the section', {}, ready([7]), false],
    ['US, EUID', { name: 'euid' }, ready([7], usnat()), false],
    ['EU, purpose 1', {}, ready([2], eu([true], [])), true],
    ['EU, not purpose 1', {}, ready([2], eu([false, true], [21])), false],
    ['EU, not the vendor', { vendorId: 7 }, ready([2], eu([true], [21])), false],
    ['EU, UID2', { name: 'uid2' }, ready([2], eu([true], [21])), false],
    ['EU, EUID', { name: 'euid' }, ready([2], eu([true], [21])), true],
    ['EU, the CMP does not show the section', {}, ready([2]), false],
    ['a section of which nothing is known here', {}, ready([5], { tcfcav1: [{}] }), false],
  ];

  test.each(decisions)('%s', async (_, options, ping, granted) => {
    const cmp = installGpp();
    const said = ask(gppConsent(options));
    await rest();
    expect(said).toEqual([]);
    cmp.tell(ping);
    await rest();
    expect(said).toEqual([granted]);
  });

  test('only readiness counts, whatever the events are called and in whichever order they come', async () => {
    const cmp = installGpp();
    const said = ask(gppConsent());
    cmp.tell({ ...ready([7], usnat()), signalStatus: 'not ready' }, 'signalStatus');
    cmp.tell(ready([0], usnat()), 'sectionChange');
    await rest();
    expect(said).toEqual([]);
    cmp.tell(ready([7], usnat()), 'cmpDisplayStatus');
    await rest();
    expect(said).toEqual([true]);
    cmp.tell({ ...ready([7], usnat()), signalStatus: 'not ready' });
    cmp.tell(ready([7], usnat({ SaleOptOut: 1 })), 'somethingElse');
    await rest();
    expect(said).toEqual([true, false]);
  });

  test('a CMP that is ready at registration is known at once', () => {
    installGpp(ready([7], usnat()));
    expect(gppConsent()(() => {})).toBe(true);
  });
});

describe('Global Privacy Control', () => {
  test.each([
    [true, false],
    [false, true],
    [undefined, true],
  ])('%s in the navigator: %s', (control, granted) => {
    vi.stubGlobal('navigator', { globalPrivacyControl: control });
    expect(gpcConsent()(() => {})).toBe(granted);
  });
});

describe('a combination', () => {
  /** A gate that answers when told to. */
  const byHand = () => {
    let settle = (_: boolean) => {};
    let change = (_: boolean) => {};
    const gate: ConsentGate = (onChange) => {
      change = onChange;
      return new Promise((resolve) => (settle = resolve));
    };
    return { gate, settle: (granted: boolean) => settle(granted), change: (granted: boolean) => change(granted) };
  };
  const yes: ConsentGate = () => true;
  const no: ConsentGate = () => false;

  test('of gates that know at once knows at once', () => {
    expect(allOf(yes, yes)(() => {})).toBe(true);
    expect(allOf(yes, no)(() => {})).toBe(false);
  });

  test('is no as soon as one says no, yes when all have said yes, and follows every change', async () => {
    const one = byHand();
    const other = byHand();
    const said = ask(allOf(yes, one.gate, other.gate));
    one.settle(false);
    await rest();
    expect(said).toEqual([false]);
    one.change(true);
    await rest();
    expect(said).toEqual([false]);
    other.settle(true);
    await rest();
    expect(said).toEqual([false, true]);
    other.change(false);
    await rest();
    expect(said).toEqual([false, true, false]);
  });

  test('takes a gate that fails for a no', async () => {
    const said = ask(allOf(yes, () => Promise.reject(new Error('broken'))));
    await rest();
    expect(said).toEqual([false]);
  });
});

describe('a session behind a gate', () => {
  const watched = () => {
    const calls: string[] = [];
    const real = memoryStore();
    const store: Store = {
      kind: 'watched',
      read: () => {
        calls.push('read');
        return real.read();
      },
      update: (change) => {
        calls.push('update');
        return real.update(change);
      },
    };
    return { calls, store, real };
  };

  test('neither stores nor sends before the decision, and does both after it', async () => {
    const fixture = createLifeFixture();
    const cmp = installTcf();
    const { calls, store } = watched();
    const tokens = await fixture.answerFor('user@example.com');
    const { session, heard } = fixture.open({ store, tokens, consent: allOf(tcfConsent(), gpcConsent()) });
    await fixture.pass(60 * MINUTE);
    expect(session.state.waitingFor).toBe('consent');
    expect([calls, fixture.requests, names(heard)]).toEqual([[], [], []]);

    cmp.tell(TCF.yes());
    await until(() => session.advertisingToken);
    expect(calls).toContain('update');
    fixture.close();
  });

  test('withdrawal in the middle of a refresh stops it and wipes, and the late answer brings nothing back', async () => {
    const fixture = createLifeFixture();
    const cmp = installTcf(TCF.yes());
    const { store, real } = watched();
    const tokens = await fixture.answerFor('user@example.com');
    const { session, heard } = fixture.open({ store, tokens, consent: tcfConsent() });
    await until(() => names(heard).includes('token set'));
    let release = () => {};
    fixture.network(async (_, go) => {
      await new Promise<void>((resolve) => (release = resolve));
      return go();
    });
    void session.refresh();
    await until(() => fixture.requests.length === 1);

    cmp.tell(TCF.yes([]));
    await until(() => session.state.waitingFor === 'consent');
    expect(session.advertisingToken).toBeUndefined();
    release();
    await fixture.pass(120 * MINUTE);
    expect(session.advertisingToken).toBeUndefined();
    expect(JSON.stringify(await real.read())).not.toContain('Token');
    expect(fixture.requests).toHaveLength(1);
    expect(names(heard)).toEqual(['token set']);

    cmp.tell(TCF.yes());
    await fixture.rest();
    expect(session.state).toMatchObject({ phase: 'empty' });
    fixture.close();
  });
});
