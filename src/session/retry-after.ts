/** How long a server asks its callers to wait. */

/** The headers of a response, as far as the page may read them. */
export type HeaderReader = Pick<Headers, 'get'>;

/**
 * Read `Retry-After`, in ms. The header contains seconds, or a date by the server's clock. A date is used only together with the
 * `Date` header, which is from the same clock: with the clock of a device that is hours behind, the pause would be hours too
 * long.
 *
 * @param headers  may be of another type, because `provide` may have thrown them.
 */
export function retryAfterOf(headers: Partial<HeaderReader> | undefined): number | undefined {
  const header = headers?.get?.('retry-after');
  if (!header) return undefined;
  const ms = Number(header) * 1000 || Date.parse(header) - Date.parse(headers?.get?.('date') ?? '');
  return ms > 0 ? ms : undefined;
}
