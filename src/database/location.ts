/**
 * Tells whether the location of a database is a folder or a URL. A location may contain a password, so no message quotes it.
 */

const EXPECTED = 'database: expected a folder or postgres://user:password@host:port/name';

/**
 * Return the kind of a location.
 *
 * @throws {RangeError} if it is neither a folder nor a PostgreSQL URL.
 */
export function locationKind(location: string): 'folder' | 'url' {
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(location)?.[1]?.toLowerCase();
  if (scheme === undefined) {
    if (location.trim() === '') throw new RangeError(`${EXPECTED}, got an empty string`);
    if (location.includes('\0')) throw new RangeError(`${EXPECTED}, got a string with U+0000`);
    return 'folder';
  }
  if (scheme !== 'postgres' && scheme !== 'postgresql') throw new RangeError(`${EXPECTED}, got ${scheme}://`);
  // The error of `new URL` would quote the password.
  if (!URL.canParse(location)) throw new RangeError(`${EXPECTED}, got a malformed URL`);
  return 'url';
}
