/** The pages in the app's views: what they have sent, and what is sent to them. */

import { type Effects, isGen, parseTold, type Told } from './state.ts';

/** The longest message of a page that is read, characters. */
const MAX_LENGTH = 65_536;
/** How far a page's `gen` may be ahead. */
const MAX_STEPS = 1_000;

/** A valid message of a page. */
export interface Message {
  readonly kind: 'req' | 'evt';
  readonly type: string;
  readonly id: unknown;
  readonly gen: number;
  readonly phase: unknown;
  readonly told: Told | undefined;
}

interface Page {
  /** It has sent `hello` to this host. */
  hasGreeted: boolean;
  /** It had lost the set, and has been handed it once more. */
  isHandedBack: boolean;
}

/** What the machine supplies. */
interface Around {
  readonly effects: Effects;
  gen(): number;
  /** The body of a `set`; null if nobody is signed in. */
  answer(): object | null;
}

function parse(text: unknown): Record<string, unknown> | undefined {
  if (typeof text !== 'string' || text.length > MAX_LENGTH) return undefined;
  try {
    const message = JSON.parse(text);
    return message?.ns === 'tessera' ? message : undefined;
  } catch {
    return undefined; // the page's other scripts use the same bridge
  }
}

export class Pages {
  private readonly around: Around;
  private readonly pages = new Map<number, Page>();

  constructor(around: Around) {
    this.around = around;
  }

  /** Read a message; undefined if it says nothing to this host. */
  receive(view: number, text: unknown): Message | undefined {
    const message = parse(text);
    if (!message) return undefined;
    const { v, kind, type, id, gen } = message;
    if ((kind !== 'req' && kind !== 'evt') || typeof type !== 'string') return undefined;
    if (v !== 1) {
      if (kind === 'req') this.respond(view, { type, id }, null, 'version');
      return undefined;
    }
    if (!isGen(gen) || gen > this.around.gen() + MAX_STEPS) return undefined;
    const { phase, advertisingToken, expiresAt } = Object(message['body']);
    const told = parseTold(advertisingToken, expiresAt);
    if (told === null || (type === 'changed' && typeof phase !== 'string')) return undefined;
    const page = this.pages.get(view) ?? { hasGreeted: false, isHandedBack: false };
    this.pages.set(view, type === 'hello' ? { hasGreeted: true, isHandedBack: false } : page);
    this.around.effects.log(`page: ${kind} ${type.slice(0, 20)}, gen ${gen}`);
    return { kind, type, id, gen, phase, told };
  }

  hasGreeted(view: number): boolean {
    return !!this.pages.get(view)?.hasGreeted;
  }

  left(view: number): void {
    this.pages.delete(view);
  }

  clear(): void {
    this.pages.clear();
  }

  /** Send what the app knows: its set, an opt-out, or that nobody is signed in. */
  tell(view: number): void {
    const body = this.around.answer();
    this.send(view, { kind: 'evt', type: body ? 'set' : 'clear', body });
  }

  tellAll(except?: number): void {
    for (const view of [...this.pages.keys()]) if (view !== except) this.tell(view);
  }

  /** Hand the set back to a page that has lost it, once. */
  handBack(view: number): void {
    const page = this.pages.get(view);
    if (!page || page.isHandedBack) return;
    page.isHandedBack = true;
    this.tell(view);
  }

  /** Tell the pages that have connected before the state was known how many sign-ins and logouts there were. */
  greetAgain(isToldToo: boolean): void {
    for (const [view, { hasGreeted }] of [...this.pages]) {
      if (!hasGreeted) continue;
      this.send(view, { kind: 'req', type: 'hello', id: `host-${this.around.gen()}`, body: null });
      if (isToldToo) this.tell(view);
    }
  }

  respond(view: number, request: { type: string; id: unknown }, body: object | null, error?: string): void {
    const { type, id } = request;
    this.send(view, { kind: 'res', type, id, body, ...(error && { error }) });
  }

  private send(
    view: number,
    message: { readonly kind: string; readonly type: string; readonly [more: string]: unknown },
  ) {
    const gen = this.around.gen();
    this.around.effects.log(`app: ${message.kind} ${message.type.slice(0, 20)}, gen ${gen}`);
    this.around.effects.send(view, JSON.stringify({ v: 1, ns: 'tessera', gen, ...message }));
  }
}
