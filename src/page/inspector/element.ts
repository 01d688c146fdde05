/**
 * `<tessera-inspector>`: records a session, shows the lanes of all tabs as a figure and as a list, and copies a report.
 *
 * The pure files beside it decide what is recorded, what is shown where, and every word.
 */

import type { Session } from '../../session/index.ts';
import { checkSession } from '../adapter-options.ts';
import { connectLanes, toText } from './channel.ts';
import { drawFigure } from './draw.ts';
import { type Lane, REASONS } from './entries.ts';
import { pageFeatures } from './inspect.ts';
import { layOut } from './layout.ts';
import { createParts, showList } from './parts.ts';
import { CSS } from './style.ts';
import { durationText, reportText } from './text.ts';
import { changeView, KEYS, SPANS, type ViewAction, type ViewState, viewOf } from './view.ts';
import { watchSession } from './watch.ts';

/**
 * The element. Its attributes: `name` (of the session; default `tessera`), `label` (of this tab), `span` (s; default 120, at most
 * 30 days), `docked`.
 */
export interface InspectorElement extends HTMLElement {
  /** What to record. Recording begins when it is set. */
  session: Session | undefined;
  /** The session's `now`, if it has one. Set it before the session. Default `Date.now`. */
  now: () => number;
  /** The support log that "Copy report" copies. */
  readonly report: string;
}

/** How often the figure moves, ms; only once a second if a user prefers reduced motion, or if a pixel covers a long time. */
const FRAME_MS = 250;

/** One lane of this tab. */
function ownLane(tab: string, label: string, watched: ReturnType<typeof watchSession>): Lane | undefined {
  const { seen, entries } = watched.log();
  if (!seen) return undefined;
  const { phase, persistence, clockOffsetMs = 0 } = seen;
  return {
    tab,
    label: toText(label),
    phase,
    persistence: toText(persistence),
    clockOffsetMs: Math.round(clockOffsetMs),
    entries,
  };
}

/** Servers that render pages import this file too. */
const Base = (globalThis.HTMLElement ?? Object) as typeof HTMLElement;

class TesseraInspector extends Base implements InspectorElement {
  #now = () => Date.now();
  #session: Session | undefined;
  #watched: ReturnType<typeof watchSession> | undefined;
  #lanes: ReturnType<typeof connectLanes> | undefined;
  #others: readonly Lane[] = [];
  #view: ViewState = { spanMs: 120_000, panMs: 0 };
  #timer: ReturnType<typeof setInterval> | undefined;
  #sending: ReturnType<typeof setTimeout> | undefined;
  #tab = Math.random().toString(36).slice(2, 6).padEnd(4, '0');

  constructor() {
    super();
    // A framework, or a script before this one, may have set properties on the element before it was defined.
    for (const name of ['now', 'session'] as const) {
      const given = Object.getOwnPropertyDescriptor(this, name)?.value;
      if (!given) continue;
      delete (this as Partial<InspectorElement>)[name];
      this[name] = given;
    }
  }

  get now(): () => number {
    return this.#now;
  }

  set now(now: () => number) {
    this.#now = now;
  }

  get session(): Session | undefined {
    return this.#session;
  }

  set session(session: Session | undefined) {
    if (typeof __TESSERA_PRODUCTION__ === 'undefined' && session) checkSession('tessera-inspector', session);
    this.#watched?.stop();
    this.#session = session;
    this.#watched = undefined;
    this.#watch();
    this.#changed();
  }

  /** Record the session, continuing an earlier recording. */
  #watch(): void {
    if (!this.#session) return;
    this.#watched?.stop();
    const now = () => this.now();
    this.#watched = watchSession(this.#session, now, () => this.#changed(), this.#watched?.log());
  }

  get report(): string {
    return reportText(this.#all(), this.now(), { ...pageFeatures() });
  }

  connectedCallback(): void {
    if (this.shadowRoot) this.#watch();
    else this.#build();
    const span = Number(this.getAttribute('span'));
    if (span > 0) this.#view = { spanMs: Math.min(span * 1000, SPANS.at(-1)!), panMs: 0 };
    const name = this.getAttribute('name') ?? 'tessera';
    this.#lanes = connectLanes(
      name,
      () => this.#ownLane(),
      (others) => {
        this.#others = others;
        this.#changed(false);
      },
    );
    this.#lanes.send();
    const isCalm = globalThis.matchMedia?.('(prefers-reduced-motion: reduce)').matches;
    this.#timer = setInterval(() => document.hidden || this.#draw(), isCalm ? 4 * FRAME_MS : FRAME_MS);
    this.#changed();
  }

  /** Leave nothing that holds the element or that the session would call. Recorded entries stay. */
  disconnectedCallback(): void {
    this.#watched?.stop();
    clearInterval(this.#timer);
    clearTimeout(this.#sending);
    this.#sending = undefined;
    this.#lanes?.close();
    this.#lanes = undefined;
  }

  #find<E extends Element>(selector: string): E {
    return this.shadowRoot!.querySelector<E>(selector)!;
  }

  #build(): void {
    const root = this.attachShadow({ mode: 'open' });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(CSS);
    root.adoptedStyleSheets = [sheet];
    root.append(...createParts());
    this.#find<HTMLElement>('[data-do=close]').hidden = !this.hasAttribute('docked');
    root.addEventListener('click', ({ target }) => {
      const name = (target as Element).closest<HTMLElement>('[data-do]')?.dataset['do'];
      if (name === 'copy') void this.#copy();
      else if (name === 'close') this.remove();
      else if (name) this.#act(name as ViewAction);
    });
    this.#find('.figure').addEventListener('keydown', (event) => {
      const { key, ctrlKey, metaKey, altKey } = event as KeyboardEvent;
      const action = KEYS[key];
      if (!action || ctrlKey || metaKey || altKey) return;
      event.preventDefault();
      this.#act(action);
    });
    this.#find('details').addEventListener('toggle', () => this.#changed(false));
  }

  #ownLane(): Lane | undefined {
    return this.#watched && ownLane(this.#tab, this.getAttribute('label') ?? '', this.#watched);
  }

  #all(): Lane[] {
    const own = this.#ownLane();
    return own ? [own, ...this.#others] : [...this.#others];
  }

  #act(action: ViewAction): void {
    this.#view = changeView(
      this.#view,
      action,
      this.now(),
      this.#all().flatMap(({ entries }) => entries),
    );
    const button = this.#find<HTMLElement>('[data-do=pause]');
    button.setAttribute('aria-pressed', String(this.#view.pausedAt !== undefined));
    this.#draw();
  }

  /** Something was recorded here (`isOwn`) or elsewhere. */
  #changed(isOwn = true): void {
    if (!this.isConnected || !this.shadowRoot) return;
    // Changes come in bursts: send the other tabs one message for each burst.
    if (isOwn) this.#sending ??= setTimeout(() => this.#sendLane(), 100);
    if (this.#find<HTMLDetailsElement>('details').open) showList(this.#find('ol'), this.#all());
    this.#draw();
  }

  #sendLane(): void {
    this.#sending = undefined;
    this.#lanes?.send();
  }

  #draw(): void {
    const figure = this.#find<HTMLElement>('.figure');
    const now = this.now();
    drawFigure(
      this.#find<SVGSVGElement>('.figure svg'),
      layOut(this.#all(), viewOf(this.#view, now, figure.clientWidth)),
    );
    this.#find('.span').textContent = durationText(this.#view.spanMs);
    const { phase = '', next } = this.#session?.state ?? {};
    this.#find('strong').textContent = phase === 'optedOut' ? 'opted out' : phase;
    const when = next?.at === undefined ? '' : ` in ${durationText(next.at - now)}`;
    const step =
      next &&
      (next.reason === 'in_progress'
        ? `${next.action} in progress`
        : `next: ${next.action}${when} (${REASONS[next.reason]})`);
    this.#find('.now span').textContent = step ?? (this.#session ? 'closed' : 'no session yet');
  }

  async #copy(): Promise<void> {
    const status = this.#find('[role=status]');
    try {
      await navigator.clipboard.writeText(this.report);
      status.textContent = 'The report is on the clipboard.';
    } catch {
      // A plain-http page has no clipboard, and a frame may not be permitted to use it.
      const text = document.createElement('textarea');
      text.value = this.report;
      text.readOnly = true;
      text.setAttribute('aria-label', 'Report');
      status.replaceChildren('Copy this: ', text);
      text.select();
    }
  }
}

/**
 * Define `<tessera-inspector>`, unless it is defined or there is no DOM. Importing `tessera-id/inspector` calls this.
 *
 * @example
 * import 'tessera-id/inspector';
 * document.querySelector('tessera-inspector').session = session;
 */
export function defineInspector(): void {
  const elements = globalThis.customElements;
  if (elements && !elements.get('tessera-inspector')) elements.define('tessera-inspector', TesseraInspector);
}
