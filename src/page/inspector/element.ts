/**
 * `<tessera-inspector>`: records a session, shows the lanes of all tabs as a figure and as a list, and copies a report.
 *
 * Thin: what is recorded, what is shown where, and every word are decided in the pure files beside it.
 */

import type { Session } from '../../session/index.ts';
import { connectLanes } from './channel.ts';
import { drawFigure } from './draw.ts';
import { type Lane, REASONS } from './entries.ts';
import { pageFeatures } from './inspect.ts';
import { layOut } from './layout.ts';
import { showList } from './list.ts';
import { CSS } from './style.ts';
import { durationText, reportText } from './text.ts';
import { changeView, KEYS, type ViewAction, type ViewState, viewOf } from './view.ts';
import { watchSession } from './watch.ts';

/** The element. Its attributes: `name` (of the session; default `tessera`), `label` (of this tab), `span` (s, default 120), `docked`. */
export interface InspectorElement extends HTMLElement {
  /** What to record. Recording begins when it is set. */
  session: Session | undefined;
  /** The session's `now`, if it has one. Set it before the session. Default `Date.now`. */
  now: () => number;
  /** The support log that "Copy report" copies. */
  readonly report: string;
}

/** How often the figure moves, ms. Where a user wants less motion, and where a pixel is much time: once a second. */
const FRAME_MS = 250;

const LEGEND: readonly [sample: string, text: string][] = [
  ['<rect class="fresh" x="0" y="2" width="24" height="10" rx="3"/>', 'in force'],
  ['<rect class="due" x="0" y="2" width="24" height="10" rx="3"/>', 'due for a refresh'],
  ['<path class="refreshable" d="M0 7h22"/><path class="ends" d="M23 2v10"/>', 'refresh token, and its end'],
  ['<path class="attempt token" d="M7 7a5 5 0 1 0 10 0a5 5 0 1 0 -10 0z"/>', 'answered'],
  ['<path class="attempt failed" d="M7 2l10 10m0 -10l-10 10"/>', 'failed'],
  ['<path class="planned" d="M7 7a5 5 0 1 0 10 0a5 5 0 1 0 -10 0z"/>', 'planned'],
  ['<rect class="outage" x="0" y="0" width="24" height="14"/>', 'outage'],
];

const TEMPLATE = `
<div class="top">
  <p class="now"><strong part="phase"></strong><span></span></p>
  <div class="tools" role="group" aria-label="View of the timeline">
    <button data-do="pause" aria-pressed="false">Pause</button>
    <button data-do="zoomOut" aria-label="Show more time">&minus;</button>
    <span class="span"></span>
    <button data-do="zoomIn" aria-label="Show less time">+</button>
    <button data-do="fit">Fit</button>
    <button data-do="now">Now</button>
    <button data-do="copy">Copy report</button>
    <button data-do="close" hidden>Close</button>
  </div>
</div>
<div class="figure" tabindex="0" role="group" aria-label="Timeline. Arrow keys move it, plus and minus zoom, Space pauses; the list below says the same in words.">
  <svg aria-hidden="true"></svg>
</div>
<ul class="keys" aria-label="Legend">${LEGEND.map(([sample, text]) => `<li><svg viewBox="0 0 24 14" aria-hidden="true">${sample}</svg>${text}</li>`).join('')}</ul>
<details><summary>All of it as a list</summary><ol tabindex="0" aria-label="What has happened, newest first"></ol></details>
<span role="status" aria-label="Report"></span>`;

/** One lane of this tab. */
function ownLane(tab: string, label: string, watched: ReturnType<typeof watchSession>): Lane | undefined {
  const { seen, entries } = watched.log();
  if (!seen) return undefined;
  const { phase, persistence, clockOffsetMs = 0 } = seen;
  return { tab, label, phase, persistence, clockOffsetMs: Math.round(clockOffsetMs), entries };
}

// Servers that render pages import this file too.
const Base = (globalThis.HTMLElement ?? Object) as typeof HTMLElement;

class TesseraInspector extends Base implements InspectorElement {
  now = () => Date.now();
  #session: Session | undefined;
  #watched: ReturnType<typeof watchSession> | undefined;
  #lanes: ReturnType<typeof connectLanes> | undefined;
  #others: readonly Lane[] = [];
  #view: ViewState = { spanMs: 120_000, panMs: 0 };
  #timer: ReturnType<typeof setInterval> | undefined;
  #sending: ReturnType<typeof setTimeout> | undefined;
  #tab = Math.random().toString(36).slice(2, 6).padEnd(4, '0');

  get session(): Session | undefined {
    return this.#session;
  }

  set session(session: Session | undefined) {
    this.#watched?.stop();
    this.#session = session;
    this.#watched =
      session &&
      watchSession(
        session,
        () => this.now(),
        () => this.#changed(),
      );
    this.#changed();
  }

  get report(): string {
    return reportText(this.#all(), this.now(), { ...pageFeatures() });
  }

  connectedCallback(): void {
    if (!this.shadowRoot) this.#build();
    const span = Number(this.getAttribute('span'));
    if (span > 0) this.#view = { spanMs: span * 1000, panMs: 0 };
    const own = () => this.#watched && ownLane(this.#tab, this.getAttribute('label') ?? '', this.#watched);
    this.#lanes = connectLanes(this.getAttribute('name') ?? 'tessera', own, (others) => {
      this.#others = others;
      this.#changed(false);
    });
    this.#lanes.send();
    const isCalm = globalThis.matchMedia?.('(prefers-reduced-motion: reduce)').matches;
    this.#timer = setInterval(() => document.hidden || this.#draw(), isCalm ? 4 * FRAME_MS : FRAME_MS);
    this.#changed();
  }

  disconnectedCallback(): void {
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
    root.innerHTML = TEMPLATE;
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

  #all(): Lane[] {
    const own = this.#watched && ownLane(this.#tab, this.getAttribute('label') ?? '', this.#watched);
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
    // Changes come in bursts: the other tabs get one message for each.
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
    this.#find('.now span').textContent = step ?? 'no session yet';
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
