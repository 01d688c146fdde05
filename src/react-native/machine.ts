/**
 * The rules of a host, without its surroundings: who is signed in, and what the pages and the app are told. Every method is called on
 * one thread. It first changes the state, then tells the pages, and tells the app when the state is stored.
 */

import { type TokenSet, toWire } from '../token/token-set.ts';
import { type Message, Pages } from './pages.ts';
import { Refreshing } from './refreshing.ts';
import { clockOf, type Effects, type Outcome, type State, type Told, writeState } from './state.ts';
import { Storing } from './storing.ts';

export class Machine {
  private readonly owner: 'app' | 'page';
  private readonly effects: Effects;
  readonly storing: Storing;
  private readonly refreshing: Refreshing;
  private readonly pages: Pages;
  private state: State = { gen: 0, user: 'unknown' };
  private isActive = true;
  private isClosed = false;
  private readonly clock: () => number;
  private lastToken: string | undefined;
  private isAskDue = false;
  private requests = 0;
  /** The requests for tokens that may still be answered. */
  private readonly asked = new Set<number>();

  constructor(owner: 'app' | 'page', effects: Effects) {
    this.owner = owner;
    this.effects = effects;
    this.clock = clockOf(effects);
    this.refreshing = new Refreshing(effects, this.clock);
    this.pages = new Pages({ effects, gen: () => this.state.gen, answer: () => this.answer() });
    const text = () => writeState(this.state);
    this.storing = new Storing({ effects, clock: this.clock, text, known: (state) => this.known(state) });
  }

  start(): void {
    this.enter(() => this.storing.read());
  }

  get advertisingToken(): string | undefined {
    const told = this.told();
    return told && this.clock() + this.refreshing.offsetMs < told.expiresAt ? told.token : undefined;
  }

  /** Undefined: the user has opted out. As all changes, it returns its number. */
  signedIn(set: TokenSet | undefined): number {
    return this.enter(() => this.adopt(set, this.state.gen + 1));
  }

  signedOut(): number {
    return this.enter(() => this.adopt(null, this.state.gen + 1));
  }

  /** Null: nobody is signed in. Returns 0 if the request no longer counts. */
  renew(request: number, answer: TokenSet | undefined | null): number {
    return this.enter(() => {
      if (this.asked.has(request)) return this.adopt(answer, this.state.gen + (answer ? 0 : 1));
      this.effects.log('renew: late, nothing has changed');
      return 0;
    });
  }

  resume(): void {
    this.enter(() => {
      this.isActive = true;
      this.isAskDue = true;
      this.storing.read();
      this.storing.retry();
      this.refreshing.resume();
    });
  }

  pause(): void {
    this.enter(() => {
      this.isActive = false;
      this.storing.retry();
    });
  }

  /** A write that is running still ends. */
  close(): void {
    this.enter(() => {
      this.storing.stopReading();
      this.refreshing.reset();
      this.asked.clear();
      this.pages.clear();
      this.isClosed = true;
    });
  }

  left(view: number): void {
    this.pages.left(view);
  }

  received(view: number, text: unknown): void {
    this.enter(() => {
      const message = this.isClosed ? undefined : this.pages.receive(view, text);
      if (message?.type === 'changed') this.pageChanged(view, message);
      if (message?.kind !== 'req' || (message.type === 'get' && this.isWaiting())) return;
      this.pages.respond(view, message, message.type === 'get' ? this.answer() : null);
    });
  }

  wake(): void {
    this.enter(() => {
      this.storing.wake(this.isActive);
      this.refreshing.wake();
    });
  }

  readEnded(id: number, text: string | null, error?: string): void {
    this.enter(() => this.storing.readEnded(id, text, error));
  }

  writeEnded(id: number, error?: string): void {
    this.enter(() => this.storing.writeEnded(id, error));
  }

  refreshEnded(id: number, given: Outcome): void {
    this.enter(() => {
      const { kind, set } = this.refreshing.ended(id, given) ?? {};
      if (kind === 'optout') this.adopt(undefined, this.state.gen + 1);
      if (kind === 'success' && set) {
        this.adopt(set, this.state.gen);
        this.refreshing.arrived(set);
      }
      // A user who has opted out, and whose set has ended, is nobody who needs another.
      if (this.refreshing.isRefused && this.state.user === 'optedOut') this.change({ ...this.state, set: undefined });
      if (this.refreshing.isRefused) this.isAskDue = true;
    });
  }

  /** Carry out `work`, and what follows from it. */
  private enter<T>(work: () => T): T {
    const result = work();
    if (this.isActive && this.refreshDueAt() <= this.clock()) this.refreshing.start(this.state.set as TokenSet);
    this.notify();
    this.schedule();
    return result;
  }

  private notify(): void {
    if (this.isClosed || this.storing.isWriting) return;
    const isDue = this.isAskDue && this.owner === 'app' && (this.isWithoutSet() || this.refreshing.isRefused);
    this.isAskDue = false;
    const request = isDue && this.storing.isKnown ? ++this.requests : 0;
    if (request) this.asked.add(request);
    const token = this.advertisingToken;
    if (token !== this.lastToken) {
      this.lastToken = token;
      this.effects.token(token);
    }
    // The app may have answered otherwise in the meantime.
    if (this.asked.has(request)) this.effects.needsTokens(request);
  }

  private schedule(): void {
    const isActive = this.isActive && !this.isClosed;
    const told = this.advertisingToken ? this.told() : undefined;
    const expiresAt = told ? told.expiresAt - this.refreshing.offsetMs : Infinity;
    const next = Math.min(
      this.storing.nextAt(isActive),
      this.refreshing.nextAt(),
      isActive ? Math.min(this.refreshDueAt(), expiresAt) : Infinity,
    );
    this.effects.wakeIn(next === Infinity ? undefined : Math.max(0, next - this.clock()));
  }

  private refreshDueAt(): number {
    const isOwner = this.owner === 'app' && this.storing.isKnown && !this.isClosed;
    return isOwner ? this.refreshing.dueAt(this.state.set, this.state.user === 'optedOut') : Infinity;
  }

  private told(): Told | undefined {
    const { user, set, told } = this.state;
    if (user === 'optedOut') return undefined;
    return this.owner === 'app' && set ? { token: set.advertisingToken, expiresAt: set.expiresAt } : told;
  }

  /** A user is signed in, and the app has no set of that user. */
  private isWithoutSet(): boolean {
    return this.state.user === 'signedIn' && !this.state.set;
  }

  /** A `get` has no answer until there is one that does not log the user out by mistake. Pages repeat it, and are told. */
  private isWaiting(): boolean {
    return !this.storing.isKnown || this.isWithoutSet() || (this.refreshing.isRunning && !this.advertisingToken);
  }

  private known(stored: State): void {
    // What a page has done meanwhile comes after what was stored.
    const { gen, user, told } = this.state;
    this.state = gen ? { gen: stored.gen + gen, user, told } : stored;
    if (gen) this.storing.save();
    this.isAskDue = true;
    this.pages.greetAgain(this.owner === 'app' ? !this.isWaiting() : gen > 0 && !told);
  }

  /** Undefined: an opt-out. Null: a logout. */
  private adopt(set: TokenSet | undefined | null, gen: number): number {
    const told = set ? { token: set.advertisingToken, expiresAt: set.expiresAt } : undefined;
    const user = set ? 'signedIn' : set === null ? 'signedOut' : 'optedOut';
    const change = this.change({ gen, user, set: set ?? undefined, told });
    this.pages.tellAll();
    return change;
  }

  private change(next: State): number {
    const { gen, user, set } = this.state;
    this.state = next;
    if (next.gen !== gen || next.user !== user || next.set !== set) {
      this.asked.clear();
      this.refreshing.reset();
      this.isAskDue = true;
    }
    return this.storing.save();
  }

  private answer(): object | null {
    const { user, set } = this.state;
    return user === 'optedOut' ? { status: 'optout' } : set ? toWire(set) : null;
  }

  private pageChanged(view: number, { gen, phase, told }: Message): void {
    const { user, set, gen: own } = this.state;
    const by = told ? 'signedIn' : phase === 'optedOut' ? 'optedOut' : 'signedOut';
    if (!this.storing.isKnown) {
      // Only what the page has done since it has connected: `gen` counts from there.
      if (gen > own && this.pages.hasGreeted(view)) this.state = { gen, user: by, told };
    } else if (gen > own) {
      // The set belongs to the user before.
      this.change({ gen, user: by, told });
      if (!told) this.pages.tellAll(view);
    } else if (gen < own) {
      // The page has not yet received what the app has done.
    } else if (user === 'signedOut' || user === 'optedOut') {
      // It was not open then.
      if (told) this.pages.tell(view);
    } else if (phase === 'optedOut') {
      // The page has learned of it without the app. If the app owns a set, the service is asked whether it still accepts it.
      this.change({ gen, user: 'optedOut', set: this.owner === 'app' ? set : undefined });
    } else if (told) {
      // An app that owns the identity and knows of no user has lost its storage: the page is about to be logged out.
      if (this.owner === 'page' || this.isWithoutSet()) this.change({ gen, user: 'signedIn', set, told });
    } else if (phase === 'empty' && this.owner === 'page' && set) {
      // The page has lost its storage. The set that the app signed in with may still be refreshed.
      this.pages.handBack(view);
    }
  }
}
