/** What a verb may touch of its process; a test brings its own. */
export interface Io {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Write a line to standard output: what the verb is for. */
  out(line: string): void;
  /** Write a line to standard error: warnings, failures, logs. */
  err(line: string): void;
  /** Resolves when the process is asked to stop. */
  stopped(): Promise<void>;
}
