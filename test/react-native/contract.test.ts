/** The contract of the hosts, with the machine of `tessera-id/react-native`. */

import { describe, expect, test } from 'vitest';
import { cases, createWorld } from './contract.ts';

describe.each([...new Set(cases.map(({ rule }) => rule))])('rule %s', (rule) => {
  test.each(cases.filter((one) => one.rule === rule).map((one) => [one.title, one] as const))('%s', (_, one) => {
    const world = createWorld(one.owner);
    const done = one.steps.map(({ action }) => ({ action, effects: world.step(action) }));
    expect(done).toEqual(one.steps);
    // The log has no token and no key.
    expect(world.log.join('\n')).not.toMatch(/token-|refresh-|=$/m);
  });
});
