/** Who sent a request, and the limit of unauthenticated callers by network address, within one process. */

import { createRateLimit } from './rate-limit.ts';

/** Who sent a request, as far as the host knows. */
export interface Caller {
  /** IP address of the client. Without it, no limit by address applies. */
  readonly address?: string | undefined;
  /**
   * Resolves when the answer has been sent or its connection is closed. Closes the connection after `ms`, and then resolves with
   * false. Without it, an answer counts as sent once `fetch` has returned it.
   */
  readonly sentWithin?: ((ms: number) => Promise<boolean>) | undefined;
}

export interface AddressLimit {
  /** Count one request. Returns undefined if it is within the limit, otherwise how long to wait, ms. */
  take(address: string | undefined): number | undefined;
}

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

/** @param now  a clock that never goes back, ms. */
export function createAddressLimit(perSecond: number, now?: () => number): AddressLimit {
  const { take } = createRateLimit(perSecond, now);
  return { take: (address) => (address === undefined ? undefined : take(networkOf(address))) };
}
