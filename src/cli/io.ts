/// <reference types="node" />
/** The parts of its process that a command may use. Tests pass their own. */

/** Exit code of a command that a signal stopped: 128 + SIGINT, as shells report it. */
export const STOPPED = 130;

export interface Io {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Standard input. `signal` cancels reading, even while it waits. */
  stdin(signal?: AbortSignal): AsyncIterable<Uint8Array | string>;
  /** Write a line to standard output: results. */
  out(line: string): void;
  /** Exactly as they are, each with its line break, to standard output: data for another program, never for a terminal. */
  data(lines: string): void;
  /** Resolves when standard output accepts more data. Commands with long output await it, to bound memory. */
  flushed(): Promise<void>;
  /** Write a line to standard error: warnings, failures, logs. */
  err(line: string): void;
  /** Standard error, if it is a terminal that can show a progress line. */
  readonly terminal?: NodeJS.WriteStream | undefined;
  /** Whether standard output is a terminal, where hashes must not be printed. */
  readonly outIsTerminal?: boolean | undefined;
  /** Ask a yes-or-no question. Undefined if there is no terminal. */
  readonly ask?: ((question: string) => Promise<boolean>) | undefined;
  /**
   * Others rely on this process, and must not notice that nobody reads its output any more. Without this call, a command ends
   * when standard output cannot be written, because its results would be lost.
   */
  serves?(): void;
  /** Resolves when a signal asks the process to stop, which the command begins to do `drainMs` later (default: 0). */
  stopped(drainMs?: number): Promise<void>;
}
