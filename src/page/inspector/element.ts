/** `<tessera-inspector>`: the lanes of all tabs as a figure and as a list, and a report to copy. */

import { durationText, explainState, REASONS } from '../../session/explain/state.ts';
import type { Session } from '../../session/index.ts';
import { checkSession } from '../adapter-options.ts';
import { connectLanes } from './channel.ts';
import { draw } from './draw.ts';
import type { Lane } from './entries.ts';
import { layOut } from './figure.ts';
import { createParts, showList } from './parts.ts';
import { createRecording } from './record.ts';
import { CSS } from './style.ts';
import { reportText, statusOf } from './text.ts';

/** Attributes: `name` (of the session; default `tessera`), `label` (of this tab), `span` (s; default 120, at most 30 days), `docked`. */
export interface InspectorElement extends HTMLElement {
  /** Recording begins when it is set. */
  session: Session | undefined;
  /** The session's `now`, if it has one. Set it before the session. Default `Date.now`. */
  now: () => number;
  readonly report: string;
}

/** How often the figure moves, ms; only once a second if a user prefers reduced motion. */
const FRAME_MS = 250;
/** The other tabs get one message for each burst of changes. */
const BURST_MS = 100;
const MAX_SPAN_S = 30 * 86_400;

/** Servers that render pages import this file too. */
const Base = (globalThis.HTMLElement ?? Object) as typeof HTMLElement;

class TesseraInspector extends Base implements InspectorElement {
  declare now: () => number;
  #session: Session | undefined;
  #recording: ReturnType<typeof createRecording> | undefined;
  #lanes: ReturnType<typeof connectLanes> | undefined;
  #others: readonly Lane[] = [];
  #timer: ReturnType<typeof setInterval> | undefined;
  #sending: ReturnType<typeof setTimeout> | undefined;
  #tab = Math.random().toString(36).slice(2, 6).padEnd(4, '0');

  constructor() {
    super();
    // A framework, or a script before this one, may have set properties on the element before it was defined.
    this.now ??= () => Date.now();
    const given = Object.getOwnPropertyDescriptor(this, 'session')?.value as Session | undefined;
    if (!given) return;
    delete (this as Partial<InspectorElement>).session;
    this.session = given;
  }

  get session(): Session | undefined {
    return this.#session;
  }

  set session(session: Session | undefined) {
    if (typeof __TESSERA_PRODUCTION__ === 'undefined' && session) checkSession('tessera-inspector', session);
    this.#recording?.stop();
    this.#session = session;
    const now = () => this.now();
    this.#recording = session && createRecording(session, now, () => this.#changed());
    this.#recording?.start();
    this.#changed();
  }

  get report(): string {
    const session = this.#session;
    const state = session
      ? explainState(session.state, session.advertisingToken, this.now())
      : 'There is no session yet.';
    return reportText(state, this.#all(), this.now());
  }

  connectedCallback(): void {
    if (this.shadowRoot) this.#recording?.start();
    else this.#build();
    const onLanes = (others: readonly Lane[]) => {
      this.#others = others;
      this.#show();
    };
    this.#lanes = connectLanes(this.getAttribute('name') ?? 'tessera', () => this.#ownLane(), onLanes);
    const isCalm = globalThis.matchMedia?.('(prefers-reduced-motion: reduce)').matches;
    this.#timer = setInterval(() => document.hidden || this.#draw(), isCalm ? 4 * FRAME_MS : FRAME_MS);
    this.#show();
  }

  /** Nothing stays that holds the element or that the session would call. Recorded entries stay. */
  disconnectedCallback(): void {
    this.#recording?.stop();
    clearInterval(this.#timer);
    clearTimeout(this.#sending);
    this.#sending = undefined;
    this.#lanes?.close();
    this.#lanes = undefined;
  }

  #find(selector: string): Element {
    return this.shadowRoot!.querySelector(selector)!;
  }

  #build(): void {
    const root = this.attachShadow({ mode: 'open' });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(CSS);
    root.adoptedStyleSheets = [sheet];
    root.append(...createParts(this.hasAttribute('docked')));
    this.#find('[data-do=copy]').addEventListener('click', () => this.#copy());
    root.querySelector('[data-do=close]')?.addEventListener('click', () => this.remove());
    this.#find('details').addEventListener('toggle', () => this.#show());
  }

  #ownLane(): Lane | undefined {
    if (!this.#session || !this.#recording) return undefined;
    const status = statusOf(this.#session.state);
    return { tab: this.#tab, label: this.getAttribute('label') ?? '', status, entries: this.#recording.entries };
  }

  #all(): Lane[] {
    return [this.#ownLane() ?? [], ...this.#others].flat();
  }

  #changed(): void {
    if (!this.#lanes) return;
    this.#sending ??= setTimeout(() => {
      this.#sending = undefined;
      this.#lanes?.send();
    }, BURST_MS);
    this.#show();
  }

  #show(): void {
    if (!this.isConnected) return;
    if (this.#find('details').hasAttribute('open')) showList(this.#find('ol'), this.#all());
    this.#draw();
  }

  #draw(): void {
    const now = this.now();
    const span = Number(this.getAttribute('span'));
    const spanMs = 1000 * Math.min(span > 0 ? span : 120, MAX_SPAN_S);
    const figure = this.#find('.figure');
    const image = figure.firstElementChild!;
    const { height, shapes } = layOut(this.#all(), now, spanMs, figure.clientWidth);
    image.setAttribute('viewBox', `0 0 ${figure.clientWidth} ${height}`);
    image.replaceChildren(...shapes.map(draw));
    const { phase = '', next } = this.#session?.state ?? {};
    this.#find('strong').textContent = phase === 'optedOut' ? 'opted out' : phase;
    const when = next?.at && next.at > now ? ` in ${durationText(next.at - now)}` : '';
    const step = next && `next: ${next.action}${when} (${REASONS[next.reason]})`;
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

/** Define `<tessera-inspector>`, unless it is defined or there is no DOM. Importing `tessera-id/inspector` calls this. */
export function defineInspector(): void {
  const elements = globalThis.customElements;
  if (elements && !elements.get('tessera-inspector')) elements.define('tessera-inspector', TesseraInspector);
}
