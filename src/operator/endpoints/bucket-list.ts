/** The wire form of salt buckets: their names, and the JSON list of rotated buckets. */

import type { Bytes } from '../../token/bytes.ts';
import type { RotatedBuckets } from '../identity/salts.ts';

/** Return the name of a bucket: `b` and five hexadecimal digits. Clients must treat it as opaque. */
export function bucketName(bucket: number): string {
  return `b${bucket.toString(16).padStart(5, '0')}`;
}

/** `last_updated` is UTC without a zone, with three fractional digits. */
function formatSeconds(seconds: number): string {
  return new Date(seconds * 1000).toISOString().slice(0, -1);
}

/** In chunks: a million short strings would take more memory than the answer. Other requests are served in between. */
const ROWS_PER_CHUNK = 2048;

function chunkText({ count, row }: RotatedBuckets, from: number): string {
  let text = '';
  for (let index = from; index < Math.min(from + ROWS_PER_CHUNK, count); index++) {
    const { bucket, startSeconds } = row(index);
    const comma = index ? ',' : '';
    text += `${comma}{"bucket_id":"${bucketName(bucket)}","last_updated":"${formatSeconds(startSeconds)}"}`;
  }
  return text;
}

/** No row is longer, in any year that a Date can represent. */
const MAX_ROW_BYTES = 72;

export async function writeBucketList(buckets: RotatedBuckets): Promise<Bytes> {
  const encoder = new TextEncoder();
  const bytes = new Uint8Array(MAX_ROW_BYTES * (buckets.count + 1));
  let length = 0;
  const write = (text: string): void => {
    length += encoder.encodeInto(text, bytes.subarray(length)).written;
  };
  write('{"status":"success","body":[');
  for (let from = 0; from < buckets.count; from += ROWS_PER_CHUNK) {
    if (from) await new Promise((resolve) => setTimeout(resolve));
    write(chunkText(buckets, from));
  }
  write(']}');
  return bytes.subarray(0, length);
}
