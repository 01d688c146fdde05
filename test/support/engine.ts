/**
 * What the stories in real engines ask of an engine: tabs that share one profile, each a window that is seen.
 *
 * An expression that is evaluated is text, so that one and the same runs everywhere; what it gives back goes as JSON.
 */

export type EngineName = 'chromium' | 'firefox' | 'webkit';

export interface Tab {
  /** Load a page; settles when it has loaded. */
  goto(url: string): Promise<void>;
  /** The value of an expression in the page; a promise is waited for. */
  evaluate<T>(expression: string): Promise<T>;
  /** What the engine has said on its console about this tab's pages that is an error, so far. */
  readonly errors: readonly string[];
  close(): Promise<void>;
  /** End it without a word to the page: its process crashes. Missing where the engine cannot be told to. */
  crash?(): Promise<void>;
  /** Freeze the page as a browser does to save power, or thaw it. Missing where the engine cannot be told to. */
  setFrozen?(frozen: boolean): Promise<void>;
}

export interface Engine {
  readonly version: string;
  open(): Promise<Tab>;
  close(): Promise<void>;
}

/** An engine that may be on this machine. */
export interface EngineKind {
  readonly name: EngineName;
  /** What has to be installed before it runs; undefined: nothing. */
  missing(): Promise<string | undefined>;
  launch(): Promise<Engine>;
}

/** Whether an engine that is not on this machine fails its tests; else it is passed over, and that is told at the end. */
export const areAllRequired = process.env['TESSERA_ENGINES'] === 'all' || !!process.env['CI'];
