/**
 * Loads `noble-gcm.ts`. The script-tag builds replace this module through an alias in `vite.config.ts`, so it does nothing else.
 */

export function loadNoble() {
  return import('./noble-gcm.ts');
}
