/** How long a server asks its callers to wait. */

/** The headers of a response, as far as the page may read them. */
export type HeaderReader = Pick<Headers, 'get'>;

/**
 * Read `Retry-After`, in ms: seconds, or a date by the server's clock, which is used only with a `Date` by the same clock. By the clock
 * of a device that is hours behind, the pause would be hours too long.
 *
 * @param headers  may be of another type, if `provide` has thrown them.
 */
export function retryAfterOf(headers: Partial<HeaderReader> | undefined): number | undefined {
  const header = headers?.get?.('retry-after');
  if (!header) return undefined;
  const ms = Number(header) * 1000 || Date.parse(header) - Date.parse(headers?.get?.('date') ?? '');
  return ms > 0 ? ms : undefined;
}
