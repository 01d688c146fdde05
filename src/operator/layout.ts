/** Bytes laid out by offset: what a token is before it is sealed. Zeros until something is written. */

import type { Bytes } from '../token/index.ts';

/** Bytes, and how to put big-endian integers among them. */
export interface Layout {
  readonly bytes: Bytes;
  int32(at: number, value: number): void;
  /** `value` is a safe integer, an instant in ms. */
  int64(at: number, value: number): void;
}

/** So many zeros to write on. */
export const layout = (length: number): Layout => {
  const bytes = new Uint8Array(length);
  const view = new DataView(bytes.buffer);
  return {
    bytes,
    int32: (at, value) => view.setInt32(at, value),
    int64: (at, value) => {
      view.setInt32(at, Math.floor(value / 2 ** 32));
      view.setUint32(at + 4, value >>> 0);
    },
  };
};
