/// <reference types="node" />

/** Exit code of a verb that a signal has stopped before its end, as a shell would say it. */
export const STOPPED = 130;

/** What a verb may touch of its process; a test brings its own. */
export interface Io {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Standard input, read only by a verb that was told to. `signal` ends the reading, also while it waits. */
  stdin(signal?: AbortSignal): AsyncIterable<Uint8Array | string>;
  /** Write a line to standard output: what the verb is for. */
  out(line: string): void;
  /** Resolves when standard output takes more: a verb that writes without end waits for it now and then. */
  drained(): Promise<void>;
  /** Write a line to standard error: warnings, failures, logs. */
  err(line: string): void;
  /** Standard error where it is a terminal that can draw: how far a long job is. */
  readonly terminal?: NodeJS.WriteStream | undefined;
  /** Whether standard output is a terminal: DII is not written there. */
  readonly outIsTerminal?: boolean | undefined;
  /** Resolves when the process is asked to stop. */
  stopped(): Promise<void>;
}
