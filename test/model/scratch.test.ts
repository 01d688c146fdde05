import { test } from 'vitest';
import type { Field } from './commands.ts';
import { HOST_STORE_FAULTS } from './host-store.ts';
import { runModel } from './run.ts';

const env = process.env;
const ALL = [
  ['wild', {}],
  ['damage', {}],
  ['wild', { keepsRefreshToken: true }],
  ['wild', { isDateReadable: true, dateErrorMs: -3_600_000 }],
  ['wild', { isDateReadable: true, dateErrorMs: 3_600_000 }],
  ['wild', { storage: 'sluggish' }],
  ['wild', { hasLabels: true }],
  ['wild', { hasLabels: true, hasProvide: true }],
  ['wild', { hasProvide: true }],
  ['wild', { hostStoreFaults: HOST_STORE_FAULTS, hasStorage: true }],
  ['wild', { hostStoreFaults: ['lies'], hasStorage: true }],
  ['wild', { timeouts: [3_000, 10_000, 30_000], locks: 'missing' }],
  ['wild', { lifetimes: { identityExpires: 600, refreshFrom: 300, refreshExpires: 1800 } }],
  ['close', {}],
  ['close', { hasProvide: true }],
  ['close', { hostStoreFaults: ['lies'], hasStorage: true }],
  ['again', { channel: 'works' }],
  ['again', { channel: 'missing' }],
  ['absence', {}],
  ['leaving', {}],
  ['leaving', { hasProvide: true }],
  ['again', { timeouts: [3_000, 10_000, 30_000], locks: 'missing' }],
] as const;
test('scratch', async ({ signal }) => {
  const list: readonly (readonly [string, object])[] = env['ALL']
    ? ALL
    : [[env['F'] ?? 'wild', JSON.parse(env['X'] ?? '{}')]];
  for (const [field, fixed] of list) {
    const before = Date.now();
    const result = await runModel({
      field: field as Field,
      runs: Number(env['N'] ?? 300),
      seed: Number(env['S'] ?? 5),
      shrinks: env['SHRINK'] === '1',
      path: env['P'],
      most: Number(env['M'] ?? 40),
      fixed,
      signal,
    });
    process.stdout.write(`RESULT ${field} ${JSON.stringify(fixed)} ${result || 'ok'} (${Date.now() - before} ms)\n`);
  }
}, 3_000_000);
