/** For a constructed style sheet: a Content Security Policy without `unsafe-inline` permits it. */

export const CSS = `
:host { display: block; container-type: inline-size; color: var(--ink); background: var(--paper); font: 400 0.875rem/1.5 system-ui, sans-serif;
  --ink: var(--inspector-ink, light-dark(#1c1e21, #e9e7e2)); --paper: var(--inspector-paper, light-dark(#fff, #1b1d21));
  --accent: var(--inspector-accent, light-dark(#0f5f66, #74cfd3)); --quiet: light-dark(#5a5f68, #a5a9b1);
  --line: light-dark(#e3e0d9, #33373e); --bad: light-dark(#a3291f, #f29a90); }
:host([hidden]) { display: none; }
:host([docked]) { color-scheme: light dark; position: fixed; inset: auto 0 0; z-index: 2147483647; max-height: 70vh; overflow: auto;
  padding: 1rem 1.25rem; border-top: 1px solid var(--line); box-shadow: 0 -8px 32px rgb(0 0 0 / 18%); }
.top { display: flex; flex-wrap: wrap; align-items: center; gap: 0.5rem 1rem; margin-bottom: 0.75rem; }
.now { flex: 1 1 16rem; margin: 0; font-variant-numeric: tabular-nums; }
.now strong { margin-right: 0.5rem; font-weight: 600; }
button { min-width: 2.25rem; min-height: 2.25rem; padding: 0.25rem 0.75rem; border: 1px solid var(--line); border-radius: 0.5rem;
  background: transparent; color: inherit; font: inherit; cursor: pointer; }
button:hover { border-color: var(--accent); color: var(--accent); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 0.375rem; }
.figure { overflow: hidden; }
svg { display: block; width: 100%; }
text { fill: var(--ink); font: 11px system-ui, sans-serif; font-variant-numeric: tabular-nums; }
.time, .now-label { text-anchor: middle; fill: var(--quiet); }
.now-label { fill: var(--accent); font-weight: 600; paint-order: stroke; stroke: var(--paper); stroke-width: 6px; }
.head { font-size: 12px; font-weight: 600; paint-order: stroke; stroke: var(--paper); stroke-width: 4px; }
.label { text-anchor: middle; fill: var(--quiet); paint-order: stroke; stroke: var(--paper); stroke-width: 3px; }
.strong { fill: var(--ink); font-weight: 600; }
.bad { fill: var(--bad); font-weight: 600; }
.on-bar { fill: var(--paper); font-weight: 600; }
.tick, .rule { stroke: var(--line); stroke-width: 1; }
line.now { stroke: var(--accent); stroke-width: 1.5; }
.future { fill: var(--paper); opacity: 0.55; }
.fresh { fill: var(--accent); }
.due { fill: var(--accent); opacity: 0.45; }
.refreshable { stroke: var(--accent); stroke-width: 1.5; stroke-dasharray: 2 4; }
.ends { stroke: var(--accent); stroke-width: 2; }
.wait { fill: var(--quiet); opacity: 0.4; }
.latency { fill: var(--accent); opacity: 0.35; }
.answered { fill: var(--accent); stroke: var(--paper); stroke-width: 1.5; }
.none { fill: var(--paper); stroke: var(--quiet); stroke-width: 1.5; }
.failed { fill: none; stroke: var(--bad); stroke-width: 2.5; stroke-linecap: round; }
.event { fill: var(--ink); stroke: var(--paper); stroke-width: 1.5; }
.planned { fill: var(--paper); stroke: var(--accent); stroke-width: 1.5; stroke-dasharray: 2 2; }
.keys { display: flex; flex-wrap: wrap; gap: 0.25rem 1.25rem; margin: 0.75rem 0 0; padding: 0; list-style: none; color: var(--quiet); font-size: 0.8125rem; }
.keys li { display: flex; align-items: center; gap: 0.4rem; }
.keys svg { width: 1.5rem; height: 0.875rem; flex: none; }
details { margin-top: 0.75rem; }
summary { cursor: pointer; width: fit-content; padding: 0.25rem 0; }
ol { max-height: 16rem; margin: 0.5rem 0 0; padding: 0; overflow: auto; list-style: none; font-variant-numeric: tabular-nums; }
ol li { display: grid; grid-template-columns: 5.5rem 5rem 1fr; gap: 0 0.75rem; padding: 0.3rem 0; border-top: 1px solid var(--line); }
ol li :nth-child(-n+2) { color: var(--quiet); }
@container (max-width: 30rem) { ol li { grid-template-columns: 5.5rem 1fr; } ol li :nth-child(3) { grid-column: 1 / -1; } .now { flex-basis: 100%; } }
`;
