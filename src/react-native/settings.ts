/** The settings of a host, checked when it is made. Without `URL`, of which React Native implements only a part. */

const PARTS = /^([a-z][a-z\d+.-]*):\/\/([a-z\d._-]+|\[[\da-f:.]+\])(?::(\d{1,5}))?(\/[^?#\s\\]*)?$/i;
const DEFAULT_PORTS: Readonly<Record<string, number>> = { https: 443, http: 80 };
/** Schemes whose pages have no origin of their own. */
const WITHOUT_ORIGIN = ['file', 'data', 'blob', 'javascript', 'about'];

/** Split an address, and write its origin as a browser does; undefined if it is none. */
function partsOf(value: unknown) {
  const [, scheme = '', host = '', port, path = ''] = PARTS.exec(`${value}`.trim()) ?? [];
  const [protocol, hostname, number] = [scheme.toLowerCase(), host.toLowerCase(), Number(port || 0)];
  if (!protocol || number > 65_535) return undefined;
  const isDefault = !number || DEFAULT_PORTS[protocol] === number;
  return { protocol, hostname, origin: `${protocol}://${hostname}${isDefault ? '' : `:${number}`}`, path };
}

function isPermitted(protocol: string, hostname: string, allowInsecure: boolean): boolean {
  return protocol !== 'http' || allowInsecure || /^(localhost|.+\.localhost|127\.[\d.]+|\[::1\])$/.test(hostname);
}

/** @throws {TypeError} for what is no absolute https URL; http is for this machine, or with `allowInsecure`. */
export function parseBaseUrl(value: unknown, allowInsecure: boolean): string {
  const parts = partsOf(value);
  if (!parts || !/^https?$/.test(parts.protocol) || !isPermitted(parts.protocol, parts.hostname, allowInsecure))
    throw new TypeError('baseUrl: expected an absolute https URL (http: for localhost, or with allowInsecure: true)');
  return (parts.origin + parts.path).replace(/\/+$/, '');
}

/** @throws {TypeError} that quotes what is no origin: `*`, a host without scheme, an address with a path. */
export function parseOrigins(values: readonly string[], allowInsecure: boolean): string[] {
  if (!Array.isArray(values) || values.length === 0) throw new TypeError('origins: expected at least one origin');
  return values.map((value) => {
    const parts = partsOf(value);
    if (parts && !parts.path.slice(1) && !WITHOUT_ORIGIN.includes(parts.protocol))
      if (isPermitted(parts.protocol, parts.hostname, allowInsecure)) return parts.origin;
    throw new TypeError(
      `origins: expected an origin such as https://www.publisher.example (http: for localhost, or with allowInsecure: true), got "${value}"`,
    );
  });
}
