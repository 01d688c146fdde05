/** What the name of a place means. It may hold a password: no message shows it. */

const EXPECTED = 'database: expected a folder or postgres://user:password@host:port/name';

/**
 * Tell a folder from a URL.
 *
 * @throws {RangeError} for neither.
 */
export function placeOf(place: string): 'folder' | 'url' {
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(place)?.[1]?.toLowerCase();
  if (scheme === undefined) {
    if (place.trim() === '' || place.includes('\0')) throw new RangeError(`${EXPECTED}, got no name`);
    return 'folder';
  }
  if (scheme !== 'postgres' && scheme !== 'postgresql') throw new RangeError(`${EXPECTED}, got ${scheme}://`);
  // The error of the parser carries the whole text.
  if (!URL.canParse(place)) throw new RangeError(`${EXPECTED}, got a URL that cannot be read`);
  return 'url';
}
