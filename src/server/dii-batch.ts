/**
 * DII for one mapping request: the values of each form, as they are sent, and the place in the batch that each came from.
 *
 * It knows nothing of the endpoints: `mapping.ts` sends a batch and puts the answers in their places.
 */

import type { DiiForm } from '../token/dii.ts';
import { type Batch, createRoom, jsonBytes } from './batch.ts';
import { type Dii, type HashLocally, sentDii } from './dii.ts';

/** DII of one form: `values[i]` is what is sent of `diis[places[i]]`. */
export interface Lane {
  readonly form: DiiForm;
  readonly values: readonly string[];
  readonly places: readonly number[];
}

/** DII for one request, in the order of the source. */
export interface DiiBatch<D extends Dii> extends Batch<D> {
  /** The very objects that the source gave. */
  readonly diis: readonly D[];
  /**
   * One for each form that the batch holds. DII in none of them is not sent: local hashing found it to be not valid, or
   * no request has room for it.
   */
  readonly lanes: readonly Lane[];
}

/** An empty batch of DII, for a request with room for `mostBytes` of it. */
export function createDiiBatch<D extends Dii>(mostBytes: number, hashLocally: HashLocally): DiiBatch<D> {
  const room = createRoom(mostBytes);
  const diis: D[] = [];
  const lanes: { form: DiiForm; values: string[]; places: number[] }[] = [];

  const laneOf = (form: DiiForm) => {
    for (const lane of lanes) if (lane.form === form) return lane;
    const lane = { form, values: [], places: [] };
    lanes.push(lane);
    return lane;
  };

  return {
    diis,
    lanes,
    add: (dii) => {
      const { form, value } = sentDii(dii, hashLocally);
      const bytes = value === undefined ? 0 : jsonBytes(value);
      // What no request has room for cannot be a valid address or number.
      const isSent = value !== undefined && bytes <= mostBytes;
      if (!room.take(isSent ? bytes : 0)) return false;
      const place = diis.push(dii) - 1;
      if (!isSent) return true;
      const lane = laneOf(form);
      lane.values.push(value);
      lane.places.push(place);
      return true;
    },
  };
}
