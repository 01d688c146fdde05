/** Messages between a page and the app around it, without their bodies. */

const WORDS = {
  from: ['page', 'app'],
  kind: ['req', 'res', 'evt'],
  type: ['hello', 'get', 'changed', 'set', 'clear'],
};

/** `app: evt set gen 3`. Any script can dispatch the event, so only known words are passed on. Returns the unsubscribe function. */
export function listenToApp(listener: (message: string) => void): () => void {
  const hear = ({ detail }: Event & { readonly detail?: unknown }) => {
    const members = Object(detail) as Record<string, unknown>;
    const [from, kind, type] = Object.entries(WORDS).map(([name, words]) =>
      words.find((word) => word === members[name]),
    );
    const error = /^[a-z_]{1,20}$/.exec(`${members['error'] ?? ''}`)?.[0];
    listener(`${from}: ${kind} ${type ?? 'other'} gen ${Number(members['gen'])}${error ? ` ${error}` : ''}`);
  };
  globalThis.addEventListener?.('tessera:message', hear);
  return () => globalThis.removeEventListener?.('tessera:message', hear);
}
