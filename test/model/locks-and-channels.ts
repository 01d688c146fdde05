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

/** Simulate Web Locks, of which a session asks only for those that are free. */
export const createLocks = (time: Time, random: Random, onMisuse: (what: string) => void) => {
  const held = new Map<string, Owner>();

  return {
    isHeldBy: (owner: Owner) => [...held.values()].includes(owner),
    /** Release the locks of a page that is gone. */
    drop: (owner: Owner) => {
      for (const [name, holder] of [...held]) if (holder === owner) held.delete(name);
    },
    /** `navigator.locks` of one page. */
    of: (owner: Owner, leave: () => Availability) => ({
      request: (name: string, options: LockOptions, work: (lock: unknown) => unknown) =>
        new Promise<unknown>((resolve, reject) => {
          if (!options.ifAvailable || Object.keys(options).length > 1) onMisuse(`a lock: ${Object.keys(options)}`);
          if (leave() === 'refused') {
            reject(refusal());
            return;
          }
          const answer = (lock: unknown) => (async () => work(lock))().then(resolve, reject);
          // The browser grants locks in a process of its own.
          time.after(random.integer(0, 3), () => {
            if (owner.isGone) return;
            if (held.has(name)) {
              time.after(0, () => answer(null), owner);
              return;
            }
            held.set(name, owner);
            const release = () => held.get(name) === owner && held.delete(name);
            time.after(0, () => answer({ name, mode: 'exclusive' }).finally(release), owner);
          });
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
