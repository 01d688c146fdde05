/** The TCF gate, with strings of the official encoder, read by the official decoder. */

import { describe, expect, test, vi } from 'vitest';
import { type CmpOptions, tcfConsent } from '../../../src/page/consent.ts';
import { encodeTcString, installTcf, NO_GDPR, TCF, tcDataOf } from '../../support/cmp.ts';
import { ask, euRules, isolateTests, settle } from './fixtures.ts';

isolateTests();

describe('TCF', () => {
  const { vendor, ...rest23 } = TCF.granted;
  const { disclosedVendors, ...vendor22 } = vendor;
  const { tcString, ...unsigned } = { ...rest23, vendor: vendor22 };
  const nobodyDisclosed = { ...rest23, vendor: { ...vendor22, disclosedVendors: {} } };
  const decisions: [what: string, options: CmpOptions, data: object, granted: boolean][] = [
    ...euRules.map(([what, options, choices, granted]): (typeof decisions)[number] => [
      what,
      options,
      tcDataOf(encodeTcString(choices)),
      granted,
    ]),
    ['a string of global scope', {}, tcDataOf(encodeTcString({ isServiceSpecific: false })), false],
    ['a CMP whose data does not list disclosed vendors', { name: 'euid' }, { ...unsigned, tcString }, true],
    ['a CMP whose data lists no vendor as disclosed, as the string does', { name: 'euid' }, nobodyDisclosed, false],
    ['a CMP whose data lists no vendor as disclosed, none is required', {}, nobodyDisclosed, true],
    ['a CMP that sends no string: its flags decide', { name: 'euid' }, unsigned, true],
    ...[null, '', 'C', 'CP', 'CQ1234', 'C%', 'BOabcdefg', 'DPabcdefg', 7, {}, 'CAAAAAAA', 'CAAAAB12']
      .map((bad) => ({ ...unsigned, tcString: bad }))
      .map((data): (typeof decisions)[number] => [`no readable string: ${data.tcString}`, {}, data, false]),
    ['a string that cannot be read, beside a list of disclosed vendors', {}, { ...TCF.granted, tcString: 'C%' }, false],
    ['flags other than true', {}, { ...TCF.granted, purpose: { consents: { 1: 1 } } }, false],
    ['nothing but the status', {}, { gdprApplies: true, eventStatus: 'tcloaded' }, false],
    ['GDPR does not apply', {}, NO_GDPR, true],
    ['GDPR does not apply, UID2', { name: 'uid2' }, NO_GDPR, true],
    ['GDPR does not apply, EUID', { name: 'euid' }, NO_GDPR, false],
    ['GDPR unknown, no consent', {}, { ...TCF.refused, gdprApplies: undefined }, false],
    ['GDPR unknown, consent', {}, { ...TCF.granted, gdprApplies: undefined }, true],
    ['GDPR unknown, UID2', { name: 'uid2' }, { ...TCF.granted, gdprApplies: undefined }, false],
    ['GDPR null', { name: 'uid2' }, { ...TCF.granted, gdprApplies: null }, false],
  ];

  test.each(decisions)('%s', async (_, options, data, granted) => {
    const cmp = installTcf();
    const answers = ask(tcfConsent(options));
    await settle();
    expect(answers).toEqual([]);
    cmp.publish(data);
    await settle();
    expect(answers).toEqual([granted]);
  });

  test.each(['cmpuishown', 'tcloaded2', undefined])('the status %s is no decision', async (eventStatus) => {
    installTcf({ ...TCF.granted, eventStatus });
    const answers = ask(tcfConsent());
    await settle();
    expect(answers).toEqual([]);
  });

  test('returns a choice of an earlier visit at once, without a promise', () => {
    installTcf({ ...TCF.granted, eventStatus: 'tcloaded' });
    expect(tcfConsent()(() => {})).toBe(true);
  });

  test('keeps its answer while the dialog is shown again', async () => {
    const cmp = installTcf();
    const answers = ask(tcfConsent());
    cmp.publish(TCF.granted);
    cmp.publish(TCF.shown);
    await settle();
    expect(answers).toEqual([true]);
    cmp.publish(TCF.refused);
    cmp.publish(TCF.refused);
    await settle();
    expect(answers).toEqual([true, false]);
  });

  test('reports a change that follows the first answer at once after that answer', async () => {
    const cmp = installTcf();
    const answers = ask(tcfConsent());
    cmp.publish(TCF.granted);
    cmp.publish(TCF.refused);
    await settle();
    expect(answers).toEqual([true, false]);
  });

  test('finds a CMP that loads late', async () => {
    const answers = ask(tcfConsent({ waitMs: 5000 }));
    await vi.advanceTimersByTimeAsync(4000);
    expect(answers).toEqual([]);
    installTcf(TCF.granted);
    await vi.advanceTimersByTimeAsync(200);
    expect(answers).toEqual([true]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('says no if no CMP appears within the time limit', async () => {
    const answers = ask(tcfConsent({ waitMs: 5000 }));
    await vi.advanceTimersByTimeAsync(4500);
    expect(answers).toEqual([]);
    await vi.advanceTimersByTimeAsync(1000);
    expect(answers).toEqual([false]);
  });

  test('does not mistake an element with the name of the API for a CMP', async () => {
    Object.assign(window, { __tcfapi: document.createElement('a') });
    const answers = ask(tcfConsent({ waitMs: 200 }));
    await vi.advanceTimersByTimeAsync(500);
    expect(answers).toEqual([false]);
  });
});
