/** Stored mappings that reach PostgreSQL through a real PgBouncer. */

import { expect, onTestFinished, test } from 'vitest';
import { freshLocation } from '../database/locations.ts';
import { hasPgBouncer, startPgBouncer } from '../database/pgbouncer.ts';
import { DAY, maxRequests, people, service, stored } from './fixtures.ts';

test.skipIf(!hasPgBouncer).each(['session', 'transaction'])(
  'two jobs in %s mode share a source, request nobody twice, and map again what is due',
  async (mode) => {
    const { url, stop } = await startPgBouncer(await freshLocation('postgres'), [`pool_mode = ${mode}`]);
    onTestFinished(stop);
    const its = service();
    const [one, other] = [await its.open(url), await its.open(url)];
    const source = people(30_000);
    const summaries = await Promise.all([one.map(source), other.map(source)]);
    expect(summaries.map(({ kept, mapped }) => kept + mapped)).toEqual([30_000, 30_000]);
    expect(summaries.reduce((sum, { mapped }) => sum + mapped, 0)).toBe(30_000);
    expect(maxRequests(its.asked)).toBe(1);
    expect(await stored(one)).toHaveLength(30_000);
    its.at += 400 * DAY;
    const due = await Promise.all([one.mapDue(), other.mapDue()]);
    expect(due.reduce((sum, { mapped }) => sum + mapped, 0)).toBe(30_000);
  },
);
