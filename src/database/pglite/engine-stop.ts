/**
 * Blocks PGlite after an error that ends PostgreSQL, such as a full disk: in WebAssembly, the next statement, even a ROLLBACK,
 * runs in an endless loop, and not even signal handlers can run. Committed transactions are in the files.
 */

import type { PGlite } from '@electric-sql/pglite';
import { TokenError } from '../../token/index.ts';
import { storageError } from '../engine-errors.ts';

function endsEngine(error: unknown): boolean {
  return ['FATAL', 'PANIC'].includes((error as { readonly severity?: string } | undefined)?.severity ?? '');
}

/** Reject every statement after such an error. Returns a function that tells whether one has occurred. */
export function stopAfterPanic(engine: PGlite): () => boolean {
  let reason: string | undefined;
  // Every statement goes through this method.
  const runSync = engine.execProtocolRawSync.bind(engine);
  engine.execProtocolRawSync = (message) => {
    if (reason === undefined) return runSync(message);
    throw new TokenError('storage_failed', `${reason}; PGlite has stopped: start the process again`);
  };
  // Recorded before PGlite continues with the next statement.
  const note = (error: unknown): never => {
    if (reason === undefined && endsEngine(error)) reason = storageError(error, 'a statement failed').message;
    throw error;
  };
  const [exec, stream] = [engine.execProtocol.bind(engine), engine.execProtocolStream.bind(engine)];
  engine.execProtocol = (...args) => exec(...args).catch(note);
  engine.execProtocolStream = (...args) => stream(...args).catch(note);
  return () => reason !== undefined;
}
