/**
 * Limits for unauthenticated callers, by network address, within one process.
 *
 * Memory use is fixed: addresses are hashed into a table of counters, so a flood from many addresses needs no more memory. Two
 * addresses with the same counter share its limit. Like `state/rate-limit.ts`, this file counts in real time, not by the
 * operator's clock.
 */

/** Who sent a request, as far as the host knows. */
export interface Caller {
  /** IP address of the client. Without it, no limit by address applies. */
  readonly address?: string | undefined;
  /** Close the connection, if an answer cannot be completed. Without it, the stream of the answer fails. */
  readonly disconnect?: (() => void) | undefined;
}

/** Counts requests by address. */
export interface AddressLimit {
  /** Count one request. Returns undefined if it is within the limit, otherwise how long to wait, ms. */
  take(address: string | undefined): number | undefined;
  /** Take back the count of a request that turned out to need none. */
  giveBack(address: string | undefined): void;
}

const COUNTERS = 2 ** 16;
const WINDOW_MS = 1000;

/** An IPv6 network of 64 bits usually belongs to one client, who can use any of its addresses. */
function networkOf(given: string): string {
  const address = withoutPort(given);
  if (!address.includes(':') || address.includes('.')) return address.slice(address.lastIndexOf(':') + 1);
  const [head = '', tail] = address.split('::');
  const groups = head.split(':').filter(Boolean);
  const rest = tail?.split(':').filter(Boolean) ?? [];
  while (tail !== undefined && groups.length + rest.length < 8) groups.push('0');
  const numbers = [...groups, ...rest].map((group) => Number.parseInt(group, 16));
  // An IPv4 address in its IPv6 form, without dots: ::ffff:c000:201.
  if (numbers.slice(0, 6).join() === '0,0,0,0,0,65535')
    return numbers
      .slice(6)
      .flatMap((number) => [number >> 8, number & 255])
      .join('.');
  return numbers.slice(0, 4).join(':');
}

/** Remove the port that some proxies append to an address: `192.0.2.1:51234`, `[2001:db8::1]:443`. */
export function withoutPort(address: string): string {
  const [, inBrackets, beforePort] = /^(?:\[(.+)\](?::\d+)?|([\d.]+):\d+)$/.exec(address) ?? [];
  return inBrackets ?? beforePort ?? address;
}

/**
 * Create a limit.
 *
 * @param perSecond  requests per second and address.
 * @param now        a clock that never goes back, ms.
 */
export function createAddressLimit(perSecond: number, now: () => number = () => performance.now()): AddressLimit {
  const counts = new Uint32Array(COUNTERS);
  // If the start value were known, a caller could compute addresses that share another caller's counter.
  const [seed = 0] = crypto.getRandomValues(new Uint32Array(1));
  let windowEndsAt = Number.NEGATIVE_INFINITY;
  // FNV-1a, with a random start value.
  const indexOf = (text: string): number => {
    let hash = seed;
    for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x0100_0193);
    return ((hash >>> 16) ^ hash) & (COUNTERS - 1);
  };
  return {
    take: (address) => {
      if (address === undefined) return undefined;
      const at = now();
      if (at >= windowEndsAt) {
        counts.fill(0);
        windowEndsAt = at + WINDOW_MS;
      }
      const index = indexOf(networkOf(address));
      counts[index] = counts[index]! + 1;
      return counts[index]! > perSecond ? windowEndsAt - at : undefined;
    },
    giveBack: (address) => {
      const index = address === undefined ? undefined : indexOf(networkOf(address));
      // In a new second it may be 0, or the count of others: then one request more is accepted.
      if (index !== undefined && counts[index]) counts[index]--;
    },
  };
}
