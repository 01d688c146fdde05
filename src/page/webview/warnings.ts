/** The development build's warnings about a host: each kind of mistake once. They quote no body: the session warns about a set. */

import { kindOf } from '../../token/checks.ts';
import { expectedGot } from '../../token/errors.ts';

interface Envelope {
  readonly v: unknown;
  readonly kind: string;
  readonly type: string;
  readonly id?: string | undefined;
  readonly gen: number;
}

const KINDS = ['req', 'res', 'evt'];
/** What a host may send that is not a response. */
const TYPES = ['hello', 'get', 'set', 'clear'];

const MAX_QUOTED = 40;

function quoted(value: unknown): string {
  return JSON.stringify(`${value}`.slice(0, MAX_QUOTED));
}

/** Only of data that seems to be meant as a message. */
function unparsedFault(data: unknown): string | undefined {
  const remedy = 'send JSON text, such as JSON.stringify returns';
  if (typeof data === 'object' && (data as { ns?: unknown } | null)?.ns === 'tessera')
    return `${expectedGot('message', 'string', kindOf(data))}: ${remedy}`;
  if (typeof data !== 'string' || !data.includes('tessera')) return undefined;
  try {
    const parsed: unknown = JSON.parse(data);
    return typeof parsed === 'string' ? 'message: expected the JSON of an object, got it encoded twice' : undefined;
  } catch {
    return data.startsWith('{') ? `message: expected JSON, got text that does not parse: ${remedy}` : undefined;
  }
}

function envelopeFault({ v, kind, type, id }: Envelope, asked: ReadonlySet<string | undefined>): string[] | undefined {
  if (v !== 1) return ['v', expectedGot('v', 'the number 1', typeof v === 'string' ? quoted(v) : v)];
  if (!KINDS.includes(kind)) return ['kind', expectedGot('kind', `one of ${KINDS.join(', ')}`, quoted(kind))];
  if (kind === 'res')
    return asked.has(id)
      ? undefined
      : ['id', `${expectedGot('id of a response', 'that of a request', quoted(id))}: repeat the id of the request`];
  return TYPES.includes(type) ? undefined : ['type', expectedGot('type', `one of ${TYPES.join(', ')}`, quoted(type))];
}

function createHostWarnings() {
  const given = new Set<string>();
  const asked = new Set<string | undefined>();
  let isGreeted = false;
  let isClosed = false;
  const warn = (kind: string, what: string) => {
    if (!given.has(kind)) console.warn(`[tessera] connectWebview: ${what}`);
    given.add(kind);
  };

  return {
    sent: ({ kind, id }: Envelope) => {
      if (kind === 'req') asked.add(id);
    },
    heard: (data: unknown, message: Envelope | undefined) => {
      if (!message) {
        const fault = unparsedFault(data);
        if (fault) warn('text', fault);
        return;
      }
      isGreeted ||= message.type === 'hello';
      const [member, fault] = envelopeFault(message, asked) ?? [];
      if (member && fault) warn(member, fault);
    },
    /** `own`: the number of sign-ins and logouts that the page knows of. */
    refused: ({ type, gen }: Envelope, error: string | undefined, own: number) => {
      if (error !== 'late') return;
      if (isGreeted && gen < own)
        warn(
          'gen',
          `${expectedGot(`${type}: gen`, `${own} or more`, gen)}: increment it on every sign-in and logout of the app, and adopt a higher one from the page`,
        );
      else warn('hello', `${type}: expected after hello: respond to the hello of the page first, or send one`);
    },
    greeted: (channel = 'tesseraHost', timeoutMs = 3_000) => {
      if (isGreeted || isClosed) return;
      warn(
        'alone',
        asked.size
          ? `the app has not responded to hello within ${timeoutMs} ms: send a res with the same id`
          : `no app around this page: expected ReactNativeWebView, webkit.messageHandlers.${channel}, window.${channel} or Capacitor.Plugins.${channel}, got none within ${timeoutMs} ms. The page works on its own`,
      );
    },
    close: () => {
      isClosed = true;
    },
  };
}

const connections = new WeakMap<object, ReturnType<typeof createHostWarnings>>();

/** `gen`, the function of a connection, identifies it. */
export function warningsOf(gen: object): ReturnType<typeof createHostWarnings> {
  const found = connections.get(gen) ?? createHostWarnings();
  connections.set(gen, found);
  return found;
}
