/**
 * Web Locks and broadcast channels of a browser profile, which its tabs share. Each can be missing or refused, as on
 * plain http or in a sandboxed frame. It does not know the session: `storage.ts` simulates what tabs store.
 */

import { createTarget, eventOf } from './event-target.ts';
import type { Random } from './random.ts';
import type { Owner, Time } from './time.ts';

/** Whether an interface works, is missing, or throws when it is used. */
export type Availability = 'works' | 'missing' | 'refused';

const refusal = () => new DOMException('refused', 'SecurityError');

interface Waiting {
  readonly owner: Owner;
  readonly grant: () => void;
}

/** Simulate Web Locks, exclusive mode only. */
export const createLocks = (time: Time, random: Random, onMisuse: (what: string) => void) => {
  const held = new Map<string, Owner>();
  const queues = new Map<string, Waiting[]>();

  const next = (name: string) => {
    const queue = queues.get(name) ?? [];
    while (!held.has(name) && queue.length) {
      const { owner, grant } = queue.shift()!;
      if (owner.isGone) continue;
      held.set(name, owner);
      time.after(0, grant, owner);
    }
  };
  const release = (name: string, owner: Owner) => {
    if (held.get(name) !== owner) return;
    held.delete(name);
    next(name);
  };

  return {
    holderOf: (name: string) => held.get(name),
    isHeldBy: (owner: Owner) => [...held.values()].includes(owner),
    /** Let a script that does not know sessions take a lock, and never release it. */
    seize: (name: string) => {
      const script: Owner = { deferred: undefined, isGone: false };
      if (!held.has(name)) held.set(name, script);
      else queues.set(name, [{ owner: script, grant: () => {} }, ...(queues.get(name) ?? [])]);
    },
    /** Release the locks of a page that is gone. */
    drop: (owner: Owner) => {
      for (const [name, holder] of [...held]) if (holder === owner) release(name, owner);
    },
    /** `navigator.locks` of one page. */
    of: (owner: Owner, leave: () => Availability) => ({
      request: (name: string, ...rest: unknown[]) =>
        new Promise<unknown>((resolve, reject) => {
          const work = rest.at(-1) as (lock: unknown) => unknown;
          const { ifAvailable, signal, steal } = Object(rest.length > 1 ? rest[0] : {}) as {
            ifAvailable?: boolean;
            signal?: AbortSignal;
            steal?: boolean;
          };
          if (steal) onMisuse('a lock is stolen');
          if (leave() === 'refused') {
            reject(refusal());
            return;
          }
          if (signal?.aborted) {
            reject(signal.reason);
            return;
          }
          const grant = () => {
            (async () => work({ name, mode: 'exclusive' }))()
              .finally(() => release(name, owner))
              .then(resolve, reject);
          };
          // The browser grants locks in a process of its own.
          time.after(random.integer(0, 3), () => {
            if (owner.isGone) return;
            if (!held.has(name)) {
              held.set(name, owner);
              time.after(0, grant, owner);
            } else if (ifAvailable) time.after(0, () => (async () => work(null))().then(resolve, reject), owner);
            else {
              const waiting = { owner, grant };
              const queue = queues.get(name) ?? [];
              queues.set(name, queue);
              queue.push(waiting);
              signal?.addEventListener('abort', () => {
                const at = queue.indexOf(waiting);
                if (at >= 0) queue.splice(at, 1);
                reject(signal.reason);
              });
            }
          });
        }),
      query: async () => ({
        held: [...held.keys()].map((name) => ({ name, mode: 'exclusive' })),
        pending: [...queues].flatMap(([name, queue]) => queue.map(() => ({ name, mode: 'exclusive' }))),
      }),
    }),
  };
};

/** A page that receives messages. */
export interface Receiver extends Owner {
  /** Called when a message arrives for a page in the back/forward cache: Chromium evicts such a page. */
  onMessageWhileCached(): void;
  readonly isCached: boolean;
  /** Whether messages to it are lost. */
  readonly isSuspended: boolean;
}

/** Simulate broadcast channels. */
export const createChannels = (time: Time, random: Random) => {
  interface Port {
    readonly name: string;
    readonly owner: Receiver;
    readonly hear: (data: unknown) => void;
  }
  const ports = new Set<Port>();

  return {
    drop: (owner: Receiver) => {
      for (const port of [...ports]) if (port.owner === owner) ports.delete(port);
    },
    openOf: (owner: Receiver) => [...ports].filter((port) => port.owner === owner).length,
    /** The class `BroadcastChannel` of one page. */
    of: (owner: Receiver, leave: Availability, onThrow: (error: unknown) => void) =>
      function BroadcastChannel(this: unknown, name: string) {
        if (leave === 'refused') throw refusal();
        const { addEventListener, removeEventListener, fire } = createTarget(onThrow);
        const port: Port = {
          name,
          owner,
          hear: (data) => {
            const event = eventOf('message', channel, { data });
            try {
              channel.onmessage?.(event);
            } catch (error) {
              onThrow(error);
            }
            fire(event);
          },
        };
        ports.add(port);
        const channel = {
          name,
          onmessage: null as ((event: unknown) => unknown) | null,
          onmessageerror: null,
          addEventListener,
          removeEventListener,
          postMessage: (data: unknown) => {
            if (!ports.has(port)) throw new DOMException('closed', 'InvalidStateError');
            const copy = structuredClone(data);
            for (const other of ports) {
              if (other === port || other.name !== name) continue;
              time.after(random.integer(0, 30), () => {
                if (!ports.has(other)) return;
                if (other.owner.isCached) other.owner.onMessageWhileCached();
                else if (!other.owner.isSuspended)
                  time.after(0, () => ports.has(other) && other.hear(copy), other.owner);
              });
            }
          },
          close: () => {
            ports.delete(port);
          },
        };
        return channel;
      },
  };
};
