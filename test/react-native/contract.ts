/**
 * Drives a machine through the cases of hosts/contract/cases.txt, which says what the words mean.
 */

import { readFileSync } from 'node:fs';
import { root } from '../../build/dist.ts';
import { Machine } from '../../src/react-native/machine.ts';
import type { Effects, Outcome } from '../../src/react-native/state.ts';
import { parseTokenSet, type WireTokenSet } from '../../src/token/index.ts';

export interface Case {
  readonly rule: string;
  readonly title: string;
  readonly owner: 'app' | 'page';
  readonly steps: readonly { readonly action: string; readonly effects: string }[];
}

/** A paragraph that begins with the number of a rule. */
export const cases: readonly Case[] = readFileSync(`${root}hosts/contract/cases.txt`, 'utf8')
  .split('\n\n')
  .filter((text) => /^\d/.test(text))
  .map((text) => {
    const [first = '', ...lines] = text.trimEnd().split('\n');
    const [, rule, owner, title] = /^(\d+) (app|page): (.+)$/.exec(first) as unknown as [string, string, 'app', string];
    const steps = lines.map((line) => {
      const [action = '', effects = ''] = line.trim().split(/ -> ?/);
      return { action, effects };
    });
    return { rule, title, owner, steps };
  });

const UNITS: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const ms = (text = '0s') => Number(text.slice(0, -1)) * UNITS[text.at(-1)!]!;

/** Everything around a machine, under the control of the steps. */
export const createWorld = (owner: 'app' | 'page') => {
  const sets = new Map<string, WireTokenSet>();
  const pending = new Map<number, number>();
  /** The true time, and how far the device's clock is off. */
  let [trueMs, offMs, uptimeMs] = [Date.UTC(2030, 0, 15, 12), 0, 0];
  let timerAt: number | undefined;
  let stored: string | null = null;
  const modes = { reads: 'work', writes: 'work' };
  /** What ends after the step; and what hangs until `storage ends`. */
  let ready: (() => void)[] = [];
  let held: (() => void)[] = [];
  let said: string[] = [];
  let shown: string | undefined;
  let reaction: string | undefined;
  let machine!: Machine;
  const log: string[] = [];

  const wire = (name: string, due = '15m', expires = '60m'): WireTokenSet => {
    const made = sets.get(name) ?? {
      advertising_token: `token-${name}`,
      refresh_token: `refresh-${name}`,
      refresh_response_key: btoa(name[0]!.repeat(32)),
      refresh_from: trueMs + ms(due),
      identity_expires: trueMs + ms(expires),
      refresh_expires: trueMs + ms('30d'),
    };
    sets.set(name, made);
    return made;
  };
  const setOf = (name: string) => (name === 'optout' ? undefined : parseTokenSet(wire(name)));
  const short = (token: string | undefined) => token?.replace('token-', '') ?? 'none';
  const nameOf = (body: { status?: string; advertising_token?: string } | null) =>
    body?.status === 'optout' ? 'optout' : short(body?.advertising_token);
  const describe = (text: string) => {
    const { gen, user, set, told } = JSON.parse(text);
    return [user, set ? nameOf(set) : told ? `(${short(told.token)})` : '', gen].filter((one) => one !== '').join(' ');
  };
  const operate = (mode: string, end: () => void, fail: () => void) => {
    if (mode === 'hang') held.push(end);
    else ready.push(mode === 'fail' ? fail : end);
  };
  const effects: Effects = {
    wall: () => trueMs + offMs,
    uptime: () => uptimeMs,
    wakeIn: (after) => (timerAt = after === undefined ? undefined : uptimeMs + after),
    read: () => {
      said.push('read');
      operate(
        modes.reads,
        () => machine.readEnded(stored),
        () => machine.readEnded(null, 'locked'),
      );
    },
    write: (id, text) => {
      said.push(`write ${describe(text)}`);
      const end = () => {
        stored = text;
        machine.writeEnded(id);
      };
      operate(modes.writes, end, () => machine.writeEnded(id, 'full'));
    },
    refresh: (id, set) => {
      said.push(`ask ${short(set.advertisingToken)}`);
      pending.set(pending.size + 1, id);
    },
    cancel: () => said.push('cancel'),
    send: (view, text) => {
      const { kind, type, body, error, gen } = JSON.parse(text);
      const more = error ?? (type === 'hello' || type === 'clear' ? '' : nameOf(body));
      said.push([`p${view}`, kind === 'evt' ? '' : kind, type, more, gen].filter((one) => one !== '').join(' '));
    },
    released: () => said.push('free'),
    settled: (_, error) => said.push(error === undefined ? 'stored' : `refused`),
    token: (token) => {
      said.push(`token ${short(token)}`);
      const next = reaction;
      reaction = undefined;
      if (next) act(next.split(' '));
    },
    needsTokens: (request) => said.push(`needs ${request}`),
    log: (line) => log.push(line),
  };

  const answer = ([number, kind, ...more]: string[]) => {
    const at = more.indexOf('date');
    const outcome: Outcome = {
      kind: kind as Outcome['kind'],
      why: '',
      set: kind === 'success' ? setOf(more[0]!) : undefined,
      date: at < 0 ? undefined : trueMs + ms(more[at + 1]),
      retryAfterMs: more[0] === 'after' ? ms(more[1]) : 0,
    };
    machine.refreshEnded(pending.get(Number(number))!, outcome);
  };
  const page = ([view, type, gen, phase, token, expires = '30m']: string[], line: string) => {
    const number = Number(view!.slice(1));
    if (type === 'raw') return machine.received(number, line.split(' raw ')[1]!);
    const told = phase === 'token' && { advertisingToken: `token-${token}`, expiresAt: trueMs + ms(expires) };
    const body = type === 'changed' ? { phase: told ? 'fresh' : phase, ...told } : null;
    const kind = type === 'changed' ? 'evt' : 'req';
    machine.received(number, JSON.stringify({ v: 1, ns: 'tessera', kind, id: '1', type, gen: Number(gen), body }));
  };
  const settle = () => {
    while (ready.length > 0) ready.shift()!();
  };
  const wait = (span: number) => {
    const end = uptimeMs + span;
    settle();
    while (timerAt !== undefined && timerAt <= end) {
      const passed = Math.max(0, timerAt - uptimeMs);
      [timerAt, uptimeMs, trueMs] = [undefined, uptimeMs + passed, trueMs + passed];
      machine.wake();
      settle();
    }
    [uptimeMs, trueMs] = [end, trueMs + end - uptimeMs];
  };
  const act = ([verb = '', ...rest]: string[], line = ''): unknown => {
    const [first = '', second = ''] = rest;
    switch (verb) {
      case 'start':
        [ready, held, timerAt, shown] = [[], [], undefined, undefined];
        machine = new Machine(owner, effects);
        return machine.start();
      case 'make':
        return wire(first, second, rest[2]);
      case 'signedIn':
        return machine.changed(setOf(first));
      case 'signedOut':
        return machine.changed(null);
      case 'renew':
        return machine.renew(Number(first), second === 'nobody' ? null : setOf(second));
      case 'resume':
      case 'pause':
      case 'close':
        return machine[verb]();
      case 'left':
        return machine.left(Number(first.slice(1)));
      case 'page':
        return page(rest, line);
      case 'answer':
        return answer(rest);
      case 'reads':
      case 'writes':
        modes[verb] = first;
        return undefined;
      case 'storage':
        ready.push(...held.splice(0));
        return undefined;
      case 'store':
        stored = line.slice('store '.length);
        return undefined;
      case 'react':
        reaction = rest.join(' ');
        return undefined;
      case 'wait':
        return wait(ms(first));
      case 'sleep':
        trueMs += ms(first);
        return undefined;
      case 'clock':
        offMs += ms(first);
        return undefined;
      default:
        throw new Error(`unknown word: ${verb}`);
    }
  };
  return {
    log,
    /** Carry out a step; returns what has happened, in order. */
    step: (action: string): string => {
      said = [];
      act(action.split(' '), action);
      settle();
      const advertisingToken = machine?.advertisingToken;
      if (advertisingToken !== shown) said.push(`shows ${short(advertisingToken)}`);
      shown = advertisingToken;
      return said.join('; ');
    },
  };
};
