/** How a salt bucket looks from outside: its name, and its row in a list of rotated ones. */

import type { Bytes } from '../../token/bytes.ts';
import type { RotatedBuckets } from '../identity/salts.ts';

/** Name of a bucket: `b` and five hexadecimal digits. Opaque to clients. */
export function bucketName(bucket: number): string {
  return `b${bucket.toString(16).padStart(5, '0')}`;
}

/** An instant (whole seconds) as rows tell it: UTC without a zone, three fractional digits. */
const rowTime = (seconds: number): string => new Date(seconds * 1000).toISOString().slice(0, -1);

// Rows that become bytes together: a million short texts would weigh more than the answer. Between two chunks of a long
// list other requests get their turn.
const CHUNK = 2048;
const breathe = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

const chunkText = ({ count, row }: RotatedBuckets, from: number): string => {
  let text = '';
  for (let at = from; at < Math.min(from + CHUNK, count); at++) {
    const { bucket, since } = row(at);
    text += `${at ? ',' : ''}{"bucket_id":"${bucketName(bucket)}","last_updated":"${rowTime(since)}"}`;
  }
  return text;
};

// More than a row takes in any year that a Date knows.
const MOST_ROW_BYTES = 72;

/** The whole successful answer of the endpoint as JSON, in UTF-8. */
export async function writeRows(buckets: RotatedBuckets): Promise<Bytes> {
  const encoder = new TextEncoder();
  const whole = new Uint8Array(MOST_ROW_BYTES * (buckets.count + 1));
  let length = 0;
  const write = (text: string): void => {
    length += encoder.encodeInto(text, whole.subarray(length)).written;
  };
  write('{"status":"success","body":[');
  for (let from = 0; from < buckets.count; from += CHUNK) {
    if (from) await breathe();
    write(chunkText(buckets, from));
  }
  write(']}');
  return whole.subarray(0, length);
}
