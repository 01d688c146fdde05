/** The lifecycle of the page: shown, hidden, frozen, cached, back online. */

/**
 * Read through the accessor of the prototype: an element with `name="visibilityState"` hides `document.visibilityState`, and user
 * content can contain one. Not through `Document`, which a script may have replaced. The accessor throws for a proxy, which a micro
 * frontend has as its `document`: that is read directly. Undefined without a document (workers, Node).
 */
export function readDocument(name: 'baseURI' | 'currentScript' | 'visibilityState'): unknown {
  try {
    return Reflect.get(Object.getPrototypeOf(document), name, document);
  } catch {
    return globalThis.document?.[name];
  }
}

/** True without a document (workers, Node). */
export function isPageVisible(): boolean {
  return readDocument('visibilityState') !== 'hidden';
}

export interface LifecycleCallbacks {
  /** The page was hidden or focused, for example. */
  onCheck(): void;
  /** The page is shown, restored, thawed or back online. */
  onWake(isOnline?: boolean): void;
  /** The page is about to be frozen, cached or unloaded. */
  onLeave(): void;
}

/** Returns a function that stops watching. */
export function watchLifecycle({ onCheck, onWake, onLeave }: LifecycleCallbacks): () => void {
  const onShown = ({ type }: Event) => (isPageVisible() ? onWake(type === 'online') : onCheck());
  const listeners: Readonly<Record<string, (event: Event) => void>> = {
    // The first `pageshow` of a page, at the end of loading, wakes nothing: a reload must not shorten the pause of a page with a token.
    pageshow: (event) => ((event as PageTransitionEvent).persisted === false ? onCheck() : onWake()),
    resume: () => onWake(),
    online: onShown,
    visibilitychange: onShown,
    // A page that gets the focus has stayed after `pagehide`.
    focus: onCheck,
    pagehide: onLeave,
    freeze: onLeave,
  };
  // In the capture phase, the window receives the events of the document, too. Not for `focus`: it would receive those of elements.
  // Workers have no such events.
  const forAll = (method: 'addEventListener' | 'removeEventListener') => {
    for (const event of Object.keys(listeners)) globalThis[method]?.(event, listeners[event]!, event !== 'focus');
  };
  forAll('addEventListener');
  return () => forAll('removeEventListener');
}
