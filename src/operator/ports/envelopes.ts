/**
 * The request envelopes of the last minutes, so that every node recognises one that is sent twice. Its authentication tag
 * identifies it: it covers the content, and nobody without the client secret can create another envelope that opens.
 */

export interface EnvelopeStore {
  /**
   * Remember an envelope for `ENVELOPE_MS` after `now`, or after the time inside, `sealedAt`, if that is later (both epoch ms).
   *
   * @param tag  its authentication tag, base64.
   * @returns    true if it is the first one with this tag.
   */
  add(tag: string, now: number, sealedAt: number): Promise<boolean>;
}

/** A node accepts an envelope if the time inside differs by less than this from its own clock, ms. */
export const CLOCK_WINDOW_MS = 120_000;

/**
 * In the worst case, a node stores it when its own clock shows 120 s before the time inside. Another node, whose clock is 120 s
 * behind, accepts it until that clock shows 120 s after. A third, 120 s ahead, then reads 480 s after the envelope was stored.
 */
export const ENVELOPE_MS = 4 * CLOCK_WINDOW_MS;
