/**
 * Tells whether the location of a database is a folder or a URL. A location may contain a password, so no message quotes it.
 */

const EXPECTED = 'database: expected a folder or postgres://user:password@host:port/name';

/**
 * `host:port`, `jdbc:...`, `user@host`, `key=value`, also after a socket, `//host:port`, `host/name?key=value`: not meant as a
 * folder. `C:\data` and `./a=b` are folders.
 */
const CONNECTION = /^(?![a-z]:[\\/])[^\\/]*[:=@]|^\/\/[^/]*[:@]|\s\w+\s*=|:[^\\/]*@|\?\w+=/i;

function folderFault(location: string): string | undefined {
  if (location.trim() === '') return 'an empty string';
  if (location.includes('\0')) return 'a string with U+0000';
  if (location !== location.trim()) return 'white space at the beginning or the end';
  return CONNECTION.test(location)
    ? 'a connection in another form; a folder needs a name without : = @ and ?'
    : undefined;
}

function urlFault(location: string): string | undefined {
  if (/^\w+:\/\/(?:[^/?#]*@)?[^/?#@]*,(?![^/?#]*@)|[?&]host=[^&#]*(?:,|%2c)/i.test(location))
    return 'several hosts, which pg does not support; use a name that follows the primary';
  const encode = '; percent-encode special characters in user and password';
  // The error of `new URL` would quote the password.
  if (!URL.canParse(location)) return `a malformed URL${encode}`;
  const { pathname, search, hash } = new URL(location);
  // In a parameter it is plain: `?user=name@server`.
  const isMisread = `${pathname}${hash}`.includes('@') || /^\?[^=]*@/.test(search);
  return isMisread ? `a URL with @ after the host${encode}` : undefined;
}

/**
 * Return the kind of a location.
 *
 * @throws {RangeError} if it is neither a folder nor a PostgreSQL URL of one host.
 */
export function locationKind(location: string): 'folder' | 'url' {
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(location)?.[1]?.toLowerCase();
  const isUrl = scheme === 'postgres' || scheme === 'postgresql';
  const fault = isUrl ? urlFault(location) : scheme === undefined ? folderFault(location) : `${scheme}://`;
  if (fault !== undefined) throw new RangeError(`${EXPECTED}, got ${fault}`);
  return isUrl ? 'url' : 'folder';
}
