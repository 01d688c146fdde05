import fc from 'fast-check';
import { test, vi } from 'vitest';
import { bundleSession } from './bundle.ts';
import { commands, type Field, setups } from './commands.ts';
import { createProfile } from './profile.ts';
import { closeAll, converge } from './settle-and-close.ts';
import { START } from './time.ts';

const env = process.env;
test('trace', async () => {
  vi.spyOn(console, 'warn').mockReturnValue();
  const load = await bundleSession();
  const out: string[] = [];
  const property = fc.asyncProperty(
    setups,
    commands((env['F'] ?? 'wild') as Field, Number(env['M'] ?? 40)),
    async (setup, some) => {
      const lines: string[] = [];
      const profile = createProfile({ ...setup, ...JSON.parse(env['X'] ?? '{}') }, load);
      const at = () => `+${Math.round(profile.time.nowMs - START)}`;
      const say = (what: string) => void lines.push(`${at()} ${what}`);
      (globalThis as Record<string, unknown>)['trace'] = say;
      const pass = profile.pass;
      profile.pass = async (ms, how) => {
        say(`--- ${how} (${ms} ms)`);
        await pass(ms, how);
        for (const tab of profile.tabs) {
          if (tab.page.isGone) continue;
          const s = tab.isRunning ? tab.session.state : undefined;
          say(
            `    tab ${tab.id} ${tab.page.isVisible ? 'visible' : 'hidden'}${tab.page.isFrozen ? ' frozen' : ''}${tab.isClosed ? ' closed' : ''} ${s ? JSON.stringify({ ...s, lastError: s.lastError?.code, refreshAt: s.refreshAt && s.refreshAt - START, expiresAt: s.expiresAt && s.expiresAt - START, endsAt: undefined, next: s.next && { ...s.next, at: s.next.at && s.next.at - START } }) : ''} shown=${profile.service.find(tab.shown ?? '')?.root}`,
          );
        }
      };
      try {
        await fc.asyncModelRun(async () => ({ model: {}, real: profile }), some);
        await converge(profile);
      } catch (error) {
        say(`ERROR ${(error as Error).stack}`);
      } finally {
        await closeAll(profile);
      }
      for (const o of profile.expected.operations) lines.push(`op ${JSON.stringify({ ...o, reached: undefined })}`);
      for (const c of profile.network.calls)
        lines.push(
          `call +${Math.round(c.at - START)} seq ${c.seq} root ${c.sent?.root} ${c.fault} by tab ${c.attempt?.tab.id} said ${typeof c.said === 'object' ? `set` : c.said} delivered ${c.deliveredAt && Math.round(c.deliveredAt - START)} ${c.attempt?.isGivenBack ? 'given back' : ''}`,
        );
      lines.push(...profile.faults.map((f) => `FAULT ${f}`));
      out.length = 0;
      out.push(JSON.stringify(setup), ...lines);
      if (profile.faults.length) throw new Error('x');
    },
  );
  await fc.check(property, {
    numRuns: Number(env['N'] ?? 1),
    seed: Number(env['S'] ?? 5),
    path: env['P'] ?? '0',
    endOnFailure: true,
  });
  process.stdout.write(`RESULT\n${out.join('\n')}\n`);
}, 3_000_000);
