/** The storage as the machine sees it: unknown until it has been read, and a change is done when it is stored. */

import { type Effects, pauseOf, readState, type State } from './state.ts';

/** A storage that has not answered by then is late: somebody's wait ends, and what was asked of it goes on. */
const LATE_MS = 10_000;

export class Storing {
  /** False until the storage has been read, or the app has said who is signed in. */
  isKnown = false;
  /** A write is running, and is not late. */
  isWriting = false;
  isClosed = false;
  private isReading = false;
  private readFailures = 0;
  /** When a read is late or, between two reads, when the next one starts. */
  private readAt = 0;
  private isLateAt = 0;
  /** The number of the last change, and of the last one that was written, which is the number of the write. */
  private changes = 0;
  private written = 0;
  /** The storage has refused the last state. */
  private isUnsaved = false;
  /** How many writes have not ended, also late ones. */
  private running = 0;

  constructor(
    private readonly effects: Effects,
    private readonly clock: () => number,
    private readonly text: () => string,
    private readonly known: (state: State) => void,
  ) {}

  read(): void {
    if (this.isKnown || this.isReading) return;
    this.readAt = this.clock() + LATE_MS;
    this.isReading = true;
    this.effects.read();
  }

  /** Also of a read that was late. */
  readEnded(text: string | null, error: string | undefined): void {
    if (this.isKnown) return;
    if (error === undefined) {
      this.isKnown = true;
      this.known(readState(text));
    } else this.readFailed(error);
  }

  private readFailed(error: string): void {
    this.effects.log(`storage, read: ${error}`);
    this.isReading = false;
    this.readAt = this.clock() + pauseOf(this.readFailures++);
  }

  close(): void {
    this.isKnown = this.isClosed = true;
    this.release();
  }

  /** A write that has not ended could replace what the next host writes. */
  private release(): void {
    if (this.isClosed && this.running === 0) this.effects.released();
  }

  /** Write the state, as soon as no other write is running. Returns the number of the change. */
  save(): number {
    this.isKnown = true;
    this.changes++;
    this.write();
    return this.changes;
  }

  retry(): void {
    if (this.isUnsaved && !this.isWriting && !this.isClosed) this.save();
  }

  private write(): void {
    if (this.isWriting || this.written === this.changes) return;
    this.isWriting = true;
    this.running++;
    this.written = this.changes;
    this.isLateAt = this.clock() + LATE_MS;
    this.effects.write(this.written, this.text());
  }

  writeEnded(id: number, error: string | undefined): void {
    this.running--;
    if (this.isWriting && id === this.written) this.endWrite(error);
    else if (error === undefined) {
      // It was late: it may have replaced a newer state.
      if (id === this.written) this.isUnsaved = false;
      else this.save();
    }
    this.release();
  }

  private endWrite(error: string | undefined): void {
    if (error !== undefined) this.effects.log(`storage, write: ${error}`);
    this.isWriting = false;
    this.isUnsaved = error !== undefined;
    const { written } = this;
    this.write();
    this.effects.settled(written, error);
  }

  wake(isActive: boolean): void {
    const at = this.clock();
    if (this.isWriting && at >= this.isLateAt) this.endWrite('late');
    if (this.isKnown || at < this.readAt) return;
    if (this.isReading) this.readFailed('late');
    else if (isActive) this.read();
  }

  nextAt(isActive: boolean): number {
    const readAt = !this.isKnown && (isActive || this.isReading) ? this.readAt : Infinity;
    return Math.min(readAt, this.isWriting ? this.isLateAt : Infinity);
  }
}
