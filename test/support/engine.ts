/**
 * The interface of a real engine: tabs that share one profile, each in its own visible window.
 *
 * Expressions are text, so that all drivers evaluate the same code; their results are transferred as JSON.
 */

export type EngineName = 'chromium' | 'firefox' | 'webkit';

export interface Tab {
  goto(url: string): Promise<void>;
  evaluate<T>(expression: string): Promise<T>;
  /** Console errors and uncaught errors of this tab's pages so far. */
  readonly errors: string[];
  close(): Promise<void>;
  /** Crash the process of the page. Missing if the driver cannot do so. */
  crash?(): Promise<void>;
  /** Freeze the page, as browsers do to save power, or resume it. Missing if the driver cannot do so. */
  setFrozen?(frozen: boolean): Promise<void>;
}

export interface Engine {
  readonly version: string;
  /** The process that the launch has started; those of the browser descend from it. */
  readonly pid: number;
  open(): Promise<Tab>;
  close(): Promise<void>;
}

export interface EngineKind {
  readonly name: EngineName;
  /** Packages that must be installed first; undefined if none. */
  missing(): Promise<string | undefined>;
  launch(): Promise<Engine>;
}

/** Whether the tests of a missing engine fail. Otherwise they are skipped, and the final summary reports it. */
export const areAllRequired = (process.env['TESSERA_ENGINES'] ?? (process.env['CI'] && 'all')) === 'all';
