/** The storage as the machine sees it: unknown until it has been read, and a change is done when it is stored. */

import { type Effects, readState, type State } from './state.ts';

/** A storage that has not answered by then is late: somebody's wait ends, the answer still counts. */
const LATE_MS = 10_000;
const FIRST_PAUSE_MS = 5_000;
const MAX_PAUSE_MS = 300_000;

/** The surroundings, and what the machine supplies. */
interface Storage {
  readonly effects: Effects;
  clock(): number;
  /** The state to write. */
  text(): string;
  /** The storage has been read. */
  known(state: State): void;
}

export class Storing {
  private readonly storage: Storage;
  /** False until the storage has been read, or the app has said who is signed in. */
  isKnown = false;
  private reading: number | undefined;
  private reads = 0;
  private readFailures = 0;
  /** When a read is late or, between two reads, when the next one starts. */
  private readAt = 0;
  private writing: number | undefined;
  private writes = 0;
  private isLateAt = 0;
  /** The number of the last change, and of the last one in the write that is running. */
  private changes = 0;
  private written = 0;
  private isDirty = false;
  /** The storage has refused the last state. */
  private isUnsaved = false;

  constructor(storage: Storage) {
    this.storage = storage;
  }

  get isWriting(): boolean {
    return this.writing !== undefined;
  }

  read(): void {
    if (this.isKnown || this.reading !== undefined) return;
    this.readAt = this.storage.clock() + LATE_MS;
    this.reading = ++this.reads;
    this.storage.effects.read(this.reading);
  }

  readEnded(id: number, text: string | null, error: string | undefined): void {
    if (this.isKnown) return;
    if (error === undefined) {
      this.isKnown = true;
      this.storage.known(readState(text));
    } else if (id === this.reading) this.readFailed(error);
  }

  private readFailed(error: string): void {
    this.storage.effects.log(`storage, read: ${error}`);
    this.reading = undefined;
    this.readAt = this.storage.clock() + Math.min(FIRST_PAUSE_MS * 2 ** this.readFailures++, MAX_PAUSE_MS);
  }

  stopReading(): void {
    this.isKnown = true;
  }

  /** Write the state, as soon as no other write is running. Returns the number of the change. */
  save(): number {
    this.isKnown = true;
    this.isDirty = true;
    this.changes++;
    this.write();
    return this.changes;
  }

  /** Try a refused write again. */
  retry(): void {
    if (!this.isUnsaved || this.isWriting) return;
    this.isDirty = true;
    this.write();
  }

  private write(): void {
    if (!this.isDirty || this.isWriting) return;
    this.isDirty = false;
    this.written = this.changes;
    this.isLateAt = this.storage.clock() + LATE_MS;
    this.writing = ++this.writes;
    this.storage.effects.write(this.writing, this.storage.text());
  }

  writeEnded(id: number, error: string | undefined): void {
    if (id === this.writing) this.endWrite(error);
    // It was late: it may have replaced a newer state.
    else if (error === undefined) {
      this.isDirty = true;
      this.write();
    }
  }

  private endWrite(error: string | undefined): void {
    if (error !== undefined) this.storage.effects.log(`storage, write: ${error}`);
    this.writing = undefined;
    this.isUnsaved = error !== undefined;
    const { written } = this;
    this.write();
    this.storage.effects.settled(written, error);
  }

  wake(isActive: boolean): void {
    const at = this.storage.clock();
    if (this.isWriting && at >= this.isLateAt) this.endWrite('late');
    if (this.isKnown || at < this.readAt) return;
    if (this.reading !== undefined) this.readFailed('late');
    else if (isActive) this.read();
  }

  nextAt(isActive: boolean): number {
    const readAt = !this.isKnown && (isActive || this.reading !== undefined) ? this.readAt : Infinity;
    return Math.min(readAt, this.isWriting ? this.isLateAt : Infinity);
  }
}
