/** Loads `noble-gcm.ts`, and nothing else, because an alias in `vite.config.ts` replaces this module in the script-tag builds. */

export function loadNoble() {
  return import('./noble-gcm.ts');
}
