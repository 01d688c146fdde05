/**
 * Reads of the document that survive DOM clobbering: an element with `name="visibilityState"` hides `document.visibilityState`. User
 * content can contain such elements.
 */

/**
 * Read a document property through the accessor of `Document.prototype`: a named element hides the property on `document`.
 *
 * @returns undefined if there is no document (workers, Node).
 */
export function readDocument(name: 'currentScript' | 'visibilityState'): unknown {
  return globalThis.document && Reflect.get(Document.prototype, name, document);
}
