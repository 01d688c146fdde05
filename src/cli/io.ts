/** What a verb may touch of its process; a test brings its own. */
export interface Io {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Standard input, read only by a verb that was told to. */
  stdin(): AsyncIterable<Uint8Array | string>;
  /** Write a line to standard output: what the verb is for. */
  out(line: string): void;
  /** Resolves when standard output takes more: a verb that writes without end waits for it now and then. */
  drained(): Promise<void>;
  /** Write a line to standard error: warnings, failures, logs. */
  err(line: string): void;
  /** Resolves when the process is asked to stop. */
  stopped(): Promise<void>;
}
