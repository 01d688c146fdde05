/**
 * The rules of a host, without its surroundings. Every method is called on one thread. It first changes the state, then tells the
 * pages, and tells the app when the state is stored.
 */

import { type TokenSet, toWire } from '../token/token-set.ts';
import { type Message, Pages } from './pages.ts';
import { Refreshing } from './refreshing.ts';
import type { Effects, Outcome, State } from './state.ts';
import { clockOf, isSameSet, toldOf, userWithoutToken, writeState } from './state.ts';
import { Storing } from './storing.ts';

export class Machine {
  private readonly clock: () => number;
  private readonly storing: Storing;
  private readonly refreshing: Refreshing;
  private readonly pages: Pages;
  private state: State = { gen: 0, user: 'unknown' };
  private isActive = true;
  private lastToken: string | undefined;
  private isAskDue = false;
  /** How many requests for tokens there were, and how many of them no answer counts for any more. */
  private requests = 0;
  private answered = 0;

  constructor(
    private readonly owner: 'app' | 'page',
    private readonly effects: Effects,
  ) {
    this.clock = clockOf(effects);
    this.refreshing = new Refreshing(effects, this.clock);
    const text = () => writeState(this.state);
    this.storing = new Storing(effects, this.clock, text, (stored) => this.known(stored));
    const gen = () => this.state.gen;
    this.pages = new Pages(effects, gen, () => this.answer());
  }

  get isClosed(): boolean {
    return this.storing.isClosed;
  }

  start(): void {
    this.enter(() => this.storing.read());
  }

  get advertisingToken(): string | undefined {
    const told = toldOf(this.owner, this.state);
    return told && this.clock() + this.refreshing.offsetMs < told.expiresAt ? told.token : undefined;
  }

  /** Undefined: the user has opted out; null: nobody is signed in. As all changes, it returns its number. */
  changed(answer: TokenSet | undefined | null): number {
    return this.enter(() => this.adopt(answer, this.state.gen + 1));
  }

  /** Returns 0 if the request no longer counts. */
  renew(request: number, answer: TokenSet | undefined | null): number {
    return this.enter(() => {
      if (request > this.answered) return this.adopt(answer, this.state.gen + (answer ? 0 : 1));
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
    if (this.isClosed) return;
    this.enter(() => {
      this.refreshing.reset();
      this.answered = this.requests;
      this.pages.clear();
      this.storing.close();
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

  readEnded(text: string | null, error?: string): void {
    this.enter(() => this.storing.readEnded(text, error));
  }

  writeEnded(id: number, error?: string): void {
    this.enter(() => this.storing.writeEnded(id, error));
  }

  refreshEnded(id: number, outcome: Outcome): void {
    this.enter(() => {
      if (!this.refreshing.ended(id, outcome)) return;
      if (outcome.kind === 'optout') this.adopt(undefined, this.state.gen + 1);
      if (outcome.set) {
        this.adopt(outcome.set, this.state.gen);
        this.refreshing.arrived(outcome.set);
      }
      if (!this.refreshing.isRefused) return;
      // A user who has opted out, and whose set has ended, is nobody who needs another.
      if (this.state.user === 'optedOut') this.change({ ...this.state, set: undefined });
      this.isAskDue = true;
    });
  }

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
    const token = this.advertisingToken;
    if (token !== this.lastToken) {
      this.lastToken = token;
      this.effects.token(token);
    }
    // The app may have answered otherwise in the meantime.
    if (request > this.answered) this.effects.needsTokens(request);
  }

  private schedule(): void {
    const isActive = this.isActive && !this.isClosed;
    const told = this.advertisingToken ? toldOf(this.owner, this.state) : undefined;
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
    const { gen, user, set, told } = this.state;
    this.state = next;
    // At one `gen`, two pages may have signed in two users.
    const isSame = next.gen === gen && next.user === user && next.told?.token === told?.token;
    if (!isSame || !isSameSet(next.set, set)) {
      this.answered = this.requests;
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
    const { user, set, gen: own, told: last } = this.state;
    const by = told ? 'signedIn' : userWithoutToken(phase);
    if (gen < own) {
      // The page has not yet received what the app has done, or has another page's user from their storage, and not the number.
      if (told && told.token === last?.token) this.pages.greet(view);
    } else if (!this.storing.isKnown) {
      // Only what the page has done since it has connected: `gen` counts from there.
      if (gen > own && this.pages.hasGreeted(view)) this.state = { gen, user: by, told };
    } else if (gen > own) {
      // The set belongs to the user before.
      this.change({ gen, user: by, told });
      if (!told) this.pages.tellAll(view);
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
