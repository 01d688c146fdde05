/** The lifecycle of the page: shown, hidden, frozen, cached, back online. This file does not decide what happens then. */

/** Lifecycle events of a page, and whether each wakes it: yes, no, only if it is visible, or only if it has stayed after `pagehide`. */
const LIFECYCLE = {
  pageshow: 'awake',
  resume: 'awake',
  online: 'if visible',
  visibilitychange: 'if visible',
  focus: 'if it stayed',
  pagehide: 'away',
  freeze: 'away',
} as const;

/**
 * Read a document property through the accessor of `Document.prototype`: an element with `name="visibilityState"` hides
 * `document.visibilityState`, and user content can contain such elements.
 *
 * @returns undefined if there is no document (workers, Node).
 */
export function readDocument(name: 'currentScript' | 'visibilityState'): unknown {
  return globalThis.document && Reflect.get(Document.prototype, name, document);
}

/** Tell whether the page is visible; true if there is no document (workers, Node). */
export function isPageVisible(): boolean {
  return readDocument('visibilityState') !== 'hidden';
}

/** Callbacks of {@link watchLifecycle}. */
export interface LifecycleCallbacks {
  /** The page was hidden or focused, for example. */
  onCheck(): void;
  /** The page is shown, restored, thawed or back online. */
  onWake(): void;
  /** The page is about to be frozen, cached or unloaded. */
  onLeave(): void;
}

/** Watch the lifecycle of the page; returns a function that stops watching. */
export function watchLifecycle({ onCheck, onWake, onLeave }: LifecycleCallbacks): () => void {
  const onEvent = ({ type, persisted }: Event & { readonly persisted?: boolean }) => {
    const becomes = LIFECYCLE[type as keyof typeof LIFECYCLE];
    // The first `pageshow` of a page, at the end of loading, wakes nothing: a reload must not shorten a pause.
    const isRestored = becomes === 'awake' && persisted !== false;
    if (becomes === 'away') onLeave();
    else if (isRestored || (becomes === 'if visible' && isPageVisible())) onWake();
    else onCheck();
  };
  // Listen on the window in the capture phase, through which events of the document pass too: but not those of a focused element.
  // Workers have no such events.
  for (const event in LIFECYCLE) globalThis.addEventListener?.(event, onEvent, event !== 'focus');
  return () => {
    for (const event in LIFECYCLE) globalThis.removeEventListener?.(event, onEvent, event !== 'focus');
  };
}
