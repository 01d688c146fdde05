/** The pages in the app's views: what they have sent, and what is sent to them. */

import type { Phase } from '../token/phase.ts';
import { type Effects, isGen, parseTold, type Told } from './state.ts';

/** The longest message of a page that is read, characters. */
const MAX_LENGTH = 65_536;
/** How far a page's `gen` may be ahead. */
const MAX_STEPS = 1_000;

export interface Message {
  readonly kind: 'req' | 'evt';
  readonly type: string;
  readonly id: unknown;
  readonly gen: number;
  /** Of a `changed`; that of a page with a newer version may be another string. */
  readonly phase: Phase | undefined;
  readonly told: Told | undefined;
}

interface Page {
  /** It has sent `hello` to this host. */
  hasGreeted: boolean;
  /** It had lost the set, and has been handed it once more. */
  isHandedBack: boolean;
}

function parse(text: unknown): Record<string, unknown> {
  if (typeof text !== 'string' || text.length > MAX_LENGTH) return {};
  try {
    return Object(JSON.parse(text));
  } catch {
    return {}; // the page's other scripts use the same bridge
  }
}

export class Pages {
  private readonly pages = new Map<number, Page>();

  /** @param answer  returns the body of a `set`; null if nobody is signed in. */
  constructor(
    private readonly effects: Effects,
    private readonly gen: () => number,
    private readonly answer: () => object | null,
  ) {}

  /** Read a message; undefined if it says nothing to this host. */
  receive(view: number, text: unknown): Message | undefined {
    const { ns, v, kind, type, id, gen, body } = parse(text);
    if (ns !== 'tessera' || (kind !== 'req' && kind !== 'evt') || typeof type !== 'string') return undefined;
    if (typeof (id ?? '') !== 'string') return undefined;
    if (v !== 1) {
      if (kind === 'req') this.respond(view, { type, id }, null, 'version');
      return undefined;
    }
    if (!isGen(gen) || gen > this.gen() + MAX_STEPS) return undefined;
    const { phase, advertisingToken, expiresAt } = Object(body);
    const told = parseTold(advertisingToken, expiresAt);
    if (told === null || (type === 'changed' && typeof phase !== 'string')) return undefined;
    const page = this.pages.get(view) ?? { hasGreeted: false, isHandedBack: false };
    this.pages.set(view, type === 'hello' ? { hasGreeted: true, isHandedBack: false } : page);
    this.effects.log(`page: ${kind} ${type.slice(0, 20)}, gen ${gen}`);
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
    const body = this.answer();
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
      this.greet(view);
      if (isToldToo) this.tell(view);
    }
  }

  /** Tell a page how many sign-ins and logouts there were: it counts its next one from there. */
  greet(view: number): void {
    this.send(view, { kind: 'req', type: 'hello', id: `host-${this.gen()}`, body: null });
  }

  respond(view: number, request: { type: string; id: unknown }, body: object | null, error?: string): void {
    const { type, id } = request;
    this.send(view, { kind: 'res', type, id, body, ...(error && { error }) });
  }

  private send(
    view: number,
    message: { readonly kind: string; readonly type: string; readonly [more: string]: unknown },
  ) {
    const gen = this.gen();
    this.effects.log(`app: ${message.kind} ${message.type.slice(0, 20)}, gen ${gen}`);
    this.effects.send(view, JSON.stringify({ v: 1, ns: 'tessera', gen, ...message }));
  }
}
