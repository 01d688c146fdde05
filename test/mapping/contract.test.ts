/** The behaviour of stored mappings on both engines, against the real operator. */

import { describe, expect, test } from 'vitest';
import type { Invalid, MappingState, Mappings, Progress } from '../../src/mapping/index.ts';
import type { Dii } from '../../src/server/index.ts';
import { hashTextOf } from '../../src/token/index.ts';
import { freshPlace, KINDS, openPlace } from '../database/locations.ts';
import { DAY, fixture, maxRequests, NOON, people, type Service, service, stored } from './fixtures.ts';

const hashOfEmail = (email: string): string => hashTextOf('email', email)!;
const OPTED_OUT = { email: 'optout@example.com' };

/** Two stored people whom a due run one day later requests. */
const dueInADay = async (its: Service, mappings: Mappings): Promise<[Dii, Dii]> => {
  const since = its.at;
  its.at += DAY;
  const { buckets } = await its.client.rotatedBuckets(since);
  its.at = since;
  const rotated = new Set(buckets.map(({ bucketId }) => bucketId));
  const due = (await stored(mappings)).filter(({ remapAt, bucketId }) =>
    bucketId === null ? remapAt! <= since + DAY : rotated.has(bucketId),
  );
  return due.slice(0, 2).map(({ hash }) => ({ emailHash: hash })) as [Dii, Dii];
};

describe.each(KINDS)('mappings on %s', (kind) => {
  test('store the answer for each address and number under its hash', async () => {
    const { mappings, service } = await fixture(kind);
    const diis: Dii[] = [
      { email: 'Jane.Doe+news@Gmail.com' },
      { phone: '+12345678901' },
      { emailHash: hashOfEmail('user@example.com') },
      { phoneHash: hashTextOf('phone', '+12345678902')! },
    ];
    expect(await mappings.map(diis)).toEqual({ read: 4, kept: 0, mapped: 4, optedOut: 0, invalid: 0 });
    const asked = await service.client.mapIdentities(diis).toArray();
    for (const [index, dii] of diis.entries()) {
      const { dii: _, status, ...facts } = asked[index] as Extract<(typeof asked)[0], { status: 'mapped' }>;
      expect(await mappings.find(dii)).toEqual({
        type: index % 2 ? 'phone' : 'email',
        hash: (dii.emailHash ?? dii.phoneHash) || hashTextOf(index % 2 ? 'phone' : 'email', (dii.email ?? dii.phone)!),
        state: status,
        ...facts,
        bucketId: null,
      });
    }
    expect(await mappings.find({ email: 'janedoe@gmail.com' })).toEqual(await mappings.find(diis[0]!));
    expect(await mappings.find({ email: 'nobody@example.com' })).toBeUndefined();
    expect(await mappings.find({ email: 'nobody' })).toBeUndefined();
  });

  test('request a person once, in any form and number', async () => {
    const { mappings, service } = await fixture(kind);
    const hash = hashOfEmail('user@example.com');
    const forms: Dii[] = [
      { email: 'user@example.com' },
      { email: ' USER@example.com' },
      { emailHash: hash },
      { emailHash: Buffer.from(hash, 'base64').toString('hex') },
    ];
    expect(await mappings.map(forms)).toEqual({ read: 4, kept: 3, mapped: 1, optedOut: 0, invalid: 0 });
    expect(await mappings.map(forms)).toEqual({ read: 4, kept: 4, mapped: 0, optedOut: 0, invalid: 0 });
    expect(service.asked.hashes).toEqual([hash]);
  });

  test('keep an address and a number with the same hash apart', async () => {
    const { mappings, service } = await fixture(kind);
    const hash = hashOfEmail('user@example.com');
    expect(await mappings.map([{ emailHash: hash }])).toMatchObject({ mapped: 1 });
    expect(await mappings.map([{ phoneHash: hash }])).toMatchObject({ kept: 0, mapped: 1 });
    service.at += 31 * DAY;
    expect(await mappings.map([{ phoneHash: hash }])).toMatchObject({ kept: 0, mapped: 1 });
    expect((await mappings.find({ emailHash: hash }))!.answeredAt).toBe(NOON);
    expect((await mappings.find({ phoneHash: hash }))!.answeredAt).toBe(NOON + 31 * DAY);
  });

  test('report invalid items with their position, and do not store them', async () => {
    const { mappings, service } = await fixture(kind);
    const [good, ...bad] = [
      { email: 'user@example.com' },
      { email: 'nobody' },
      { phone: '555-0100' },
      { phoneHash: 'short' },
      { email: '' },
    ] as [Dii, ...Dii[]];
    const told: Invalid[] = [];
    const onInvalid = async (invalid: Invalid) => void told.push(invalid);
    const summary = await mappings.map([bad[0]!, good, ...bad.slice(1)], { onInvalid });
    expect(summary).toEqual({ read: 5, kept: 0, mapped: 1, optedOut: 0, invalid: 4 });
    expect(told).toEqual([0, 2, 3, 4].map((index, i) => ({ dii: bad[i], index, reason: 'invalid identifier' })));
    expect(await stored(mappings)).toHaveLength(1);
    expect(service.asked.hashes).toHaveLength(1);
  });

  test('report rows without DII, and with DII that is nobody’s, and why', async () => {
    const { mappings } = await fixture(kind);
    const rows = [
      { email: null },
      { email: null, phone: '+12345678901' },
      { email: 'user\u0000@example.com' },
      { email: 'user\ud800@example.com' },
      { phoneHash: hashTextOf('phone_hash', '47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=')! },
    ] as unknown as Dii[];
    const told: Invalid[] = [];
    const summary = await mappings.map(rows, { onInvalid: (invalid) => void told.push(invalid) });
    expect(summary).toEqual({ read: 5, kept: 0, mapped: 1, optedOut: 0, invalid: 4 });
    const notText = 'expected an email address, got a control character or a lone surrogate in it';
    expect(told).toEqual([
      { dii: rows[0], index: 0, reason: 'expected DII, got null' },
      { dii: rows[2], index: 2, reason: notText },
      { dii: rows[3], index: 3, reason: notText },
      {
        dii: rows[4],
        index: 4,
        reason: 'expected the hash of an address or a number, got that of the empty string: an empty field was hashed',
      },
    ]);
  });

  test('accept sources of any kind and length, and report progress', async () => {
    const { mappings, service } = await fixture(kind, { workers: 2 });
    let someAreMapped = () => {};
    const untilSomeAreMapped = new Promise<void>((resolve) => (someAreMapped = resolve));
    // Mapping starts before the source has ended: this source waits for it.
    async function* source() {
      for (const dii of people(12_000)) yield dii;
      await untilSomeAreMapped;
      for (const dii of people(11_456, 12_000)) yield dii;
    }
    const told: Progress[] = [];
    const onProgress = (progress: Progress) => {
      told.push(progress);
      if (progress.mapped > 0) someAreMapped();
    };
    const summary = await mappings.map(source(), { onProgress });
    expect(summary).toEqual({ read: 23_456, kept: 0, mapped: 23_456, optedOut: 0, invalid: 0 });
    expect(told.at(-1)).toEqual(summary);
    for (const [i, { mapped, read }] of told.entries()) {
      expect(mapped).toBeGreaterThanOrEqual(told[i - 1]?.mapped ?? 0);
      expect(read).toBeGreaterThanOrEqual(mapped);
    }
    expect(maxRequests(service.asked)).toBe(1);
    const all = await stored(mappings);
    expect(all).toHaveLength(23_456);
    expect(all.map(({ hash }) => hash)).toEqual(all.map(({ hash }) => hash).sort());
    expect(await mappings.counts()).toEqual({ mapped: 23_456, optedOut: 0, invalid: 0, due: 0 });
  });

  test('count each item of the source once, also after a run that failed', async () => {
    const { mappings, service } = await fixture(kind);
    service.fault = () => new Response('no', { status: 500 });
    await expect(mappings.map(people(30))).rejects.toMatchObject({ code: 'http_status' });
    service.fault = undefined;
    // One of them is a duplicate, five are new.
    const source = [...people(30), ...people(1), ...people(5, 30)];
    expect(await mappings.map(source)).toEqual({ read: 36, kept: 1, mapped: 35, optedOut: 0, invalid: 0 });
  });

  test('count and request a person once who is in two batches in flight', async () => {
    const { mappings, service } = await fixture(kind);
    const source = [...people(5_000), ...people(10), ...people(4_990, 5_000)];
    expect(await mappings.map(source)).toEqual({ read: 10_000, kept: 10, mapped: 9_990, optedOut: 0, invalid: 0 });
    expect(await mappings.counts()).toMatchObject({ mapped: 9_990 });
    expect(maxRequests(service.asked)).toBe(1);
  });

  test('map nothing for an empty source', async () => {
    const { mappings, service } = await fixture(kind);
    expect(await mappings.map([])).toEqual({ read: 0, kept: 0, mapped: 0, optedOut: 0, invalid: 0 });
    expect(await mappings.mapDue()).toEqual({ read: 0, kept: 0, mapped: 0, optedOut: 0, invalid: 0 });
    expect(service.asked).toEqual({ hashes: [], since: [] });
  });

  test('store an opted-out user without a raw ID', async () => {
    const { mappings, service } = await fixture(kind);
    // The service's clock is used even if the answer holds nothing else.
    service.aheadMs = 80_000;
    expect(await mappings.map([OPTED_OUT])).toMatchObject({ mapped: 0, optedOut: 1 });
    expect(await mappings.find(OPTED_OUT)).toEqual({
      type: 'email',
      hash: hashOfEmail('optout@example.com'),
      state: 'optedOut',
      rawId: null,
      previousRawId: null,
      remapAt: null,
      bucketId: null,
      answeredAt: NOON,
    });
  });

  test.each([2, 3] as const)(
    'remove the raw IDs of a user who has opted out in the meantime (version %i)',
    async (version) => {
      const { mappings, service } = await fixture(kind, { version });
      await mappings.map(people(3_000));
      const [gone, stays] = await dueInADay(service, mappings);
      await service.client.optOut(gone);
      service.at += DAY;
      await mappings.mapDue();
      expect(await mappings.find(gone)).toMatchObject({
        state: 'optedOut',
        rawId: null,
        previousRawId: null,
        remapAt: null,
        bucketId: null,
      });
      expect(await mappings.find(stays)).toMatchObject({ state: 'mapped', rawId: expect.any(String) });
      // Due runs do not request opted-out users.
      expect(service.asked.hashes.filter((hash) => hash === gone.emailHash)).toHaveLength(2);
      service.at += DAY;
      await mappings.mapDue();
      expect(service.asked.hashes.filter((hash) => hash === gone.emailHash)).toHaveLength(2);
    },
  );

  test('map a user who has opted in again if the source holds their DII', async () => {
    const { mappings, service: its, place } = await fixture(kind);
    const [person] = people(1) as [Dii];
    await its.client.optOut(person);
    its.at += 1000;
    expect(await mappings.map([person])).toMatchObject({ mapped: 0, optedOut: 1 });
    await mappings.close();
    // The same operator without its opt-outs.
    const later = service();
    later.at = NOON + DAY;
    const again = await later.open(place);
    expect(await again.mapDue()).toMatchObject({ mapped: 0, optedOut: 0 });
    expect(await again.map([person])).toMatchObject({ kept: 0, mapped: 1 });
    expect(await again.find(person)).toMatchObject({ state: 'mapped', rawId: expect.any(String) });
  });

  test('check all stored raw IDs for opt-outs on request', async () => {
    const { mappings, service } = await fixture(kind);
    const diis = people(5_100);
    await mappings.map(diis);
    for (const dii of [diis[3]!, diis[5_050]!]) await service.client.optOut(dii);
    service.at += DAY;
    const told: Progress[] = [];
    const summary = await mappings.checkOptOuts({ onProgress: (progress) => told.push(progress) });
    expect(summary).toEqual({ read: 5_100, kept: 0, mapped: 0, optedOut: 2, invalid: 0 });
    expect(told.at(-1)).toEqual({ ...summary, total: 5_100 });
    expect(await mappings.find(diis[3]!)).toMatchObject({ state: 'optedOut', rawId: null, previousRawId: null });
    expect(await mappings.counts()).toMatchObject({ mapped: 5_098, optedOut: 2 });
    expect(await mappings.checkOptOuts()).toMatchObject({ read: 5_098, optedOut: 0 });
  });

  test('date an opt-out that a check has found by the clock of the service', async () => {
    const { mappings, service, place } = await fixture(kind);
    const [person] = people(1) as [Dii];
    await mappings.map([person]);
    await mappings.close();
    await service.client.optOut(person);
    service.at += DAY;
    service.aheadMs = 80_000;
    const later = await service.open(place);
    expect(await later.checkOptOuts()).toMatchObject({ optedOut: 1 });
    expect(await later.find(person)).toMatchObject({ state: 'optedOut', answeredAt: NOON + DAY });
  });

  test('delete one person, or all', async () => {
    const { mappings, service } = await fixture(kind, { version: 2 });
    const [one, ...others] = people(5_200) as [Dii, ...Dii[]];
    await mappings.map([one, ...others]);
    expect(await mappings.forget({ emailHash: hashOfEmail(one.email!) })).toBe(true);
    expect(await mappings.forget(one)).toBe(false);
    expect(await mappings.forget({ email: 'nobody' })).toBe(false);
    expect(await mappings.find(one)).toBeUndefined();
    expect(await mappings.forgetAll()).toBe(5_199);
    expect(await stored(mappings)).toEqual([]);
    expect(await mappings.forgetAll()).toBe(0);
    // Without rows no bucket needs to be checked.
    service.at += DAY;
    await mappings.mapDue();
    expect(service.asked.since).toEqual([]);
  });

  test('return the entries of one state', async () => {
    const { mappings } = await fixture(kind);
    await mappings.map([OPTED_OUT, ...people(3), { phone: '+12345678901' }]);
    const found = async (state: MappingState) => {
      const states: string[] = [];
      for await (const { type, ...entry } of mappings.entries({ state })) states.push(`${type} ${entry.state}`);
      return states.toSorted();
    };
    expect(await found('optedOut')).toEqual(['email optedOut']);
    expect(await found('mapped')).toEqual(['email mapped', 'email mapped', 'email mapped', 'phone mapped']);
    expect(await found('invalid')).toEqual([]);
  });

  test('keep their rows when they are opened again, and leave a given database open', async () => {
    const its = service();
    const place = await freshPlace(kind);
    const first = await its.open(place);
    await first.map(people(10));
    const before = await stored(first);
    await first.close();
    await expect(first.counts()).rejects.toMatchObject({ code: 'closed' });
    const database = await openPlace(place);
    const second = await its.open(database);
    expect(await stored(second)).toEqual(before);
    await second.close();
    expect(await database.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await database.close();
  });
});
