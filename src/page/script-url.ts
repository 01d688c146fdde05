/**
 * The `<script>` element of the running script-tag file. Read while the file is evaluated: `document.currentScript` is null
 * in everything that runs later.
 */

/** `null` or `undefined` if a classic `<script>` element did not load this file. */
export const scriptTag = globalThis.document?.currentScript as HTMLScriptElement | null | undefined;
