/// <reference types="node" />
/** Whether the location of a database is a folder or a URL. It may contain a password, so no message quotes it. */

const EXPECTED = 'database: expected a folder or postgres://user:password@host:port/name';

/** Not meant as a folder: `host:port`, `jdbc:...`, `user@host`, `key=value`, `//host:port`. But `C:\data` and `./a=b` are. */
const CONNECTION = /^(?![a-z]:[\\/])[^\\/]*[:=@]|^\/\/[^/]*[:@]|\s\w+\s*=|:[^\\/]*@|\?\w+=/i;

function folderFault(location: string): string | undefined {
  if (location.trim() === '') return 'an empty string';
  if (location.includes('\0')) return 'a string with U+0000';
  if (location !== location.trim()) return 'white space at the beginning or the end';
  return CONNECTION.test(location)
    ? 'a connection in another form; a folder needs a name without : = @ and ?'
    : undefined;
}

const ONE_NAME = 'use a name that follows the primary';
const SEVERAL_HOSTS = `which pg does not support; ${ONE_NAME}`;

/** What libpq reads to choose another server, with its environment variable. pg ignores it. */
const IGNORED: readonly (readonly [parameter: string, variable: string])[] = [
  ['target_session_attrs', 'PGTARGETSESSIONATTRS'],
  ['hostaddr', 'PGHOSTADDR'],
  ['service', 'PGSERVICE'],
  ['servicefile', 'PGSERVICEFILE'],
];

/** What pg would ignore or misread in a well-formed URL or in the environment. */
function ignoredFault({ hostname, searchParams }: URL): string | undefined {
  if (searchParams.get('sslrootcert') === 'system')
    return 'sslrootcert=system, which pg reads as the name of a file; without it, the certificate authorities of Node count';
  const { env } = process;
  if (!hostname && !searchParams.has('host') && env.PGHOST?.includes(','))
    return `several hosts in PGHOST, ${SEVERAL_HOSTS}`;
  for (const [parameter, variable] of IGNORED) {
    const found = searchParams.has(parameter) ? parameter : env[variable] ? variable : undefined;
    if (found !== undefined) return `${found}, which pg ignores; ${ONE_NAME}`;
  }
  return undefined;
}

function urlFault(location: string): string | undefined {
  if (/^\w+:\/\/(?:[^/?#]*@)?[^/?#@]*,(?![^/?#]*@)|[?&]host=[^&#]*(?:,|%2c)/i.test(location))
    return `several hosts, ${SEVERAL_HOSTS}`;
  const encode = '; percent-encode special characters in user and password';
  // The error of `new URL` would quote the password.
  if (!URL.canParse(location)) return `a malformed URL${encode}`;
  const url = new URL(location);
  const { pathname, search, hash } = url;
  // In a parameter it is plain: `?user=name@server`.
  const isMisread = `${pathname}${hash}`.includes('@') || /^\?[^=]*@/.test(search);
  return isMisread ? `a URL with @ after the host${encode}` : ignoredFault(url);
}

/** @throws {RangeError} if it is neither a folder nor a PostgreSQL URL of one host. */
export function locationKind(location: string): 'folder' | 'url' {
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(location)?.[1]?.toLowerCase();
  const isUrl = scheme === 'postgres' || scheme === 'postgresql';
  const fault = isUrl ? urlFault(location) : scheme === undefined ? folderFault(location) : `${scheme}://`;
  if (fault !== undefined) throw new RangeError(`${EXPECTED}, got ${fault}`);
  return isUrl ? 'url' : 'folder';
}
