/** DII for one mapping request: the values to send, grouped by form, each with its position in the batch. */

import type { DiiForm } from '../../token/index.ts';
import { type Dii, type HashLocally, sentDii } from '../dii.ts';
import { type Batch, createCapacity, jsonBytes } from './batch.ts';

/** The values of one form: `values[i]` is sent for `diis[positions[i]]`. */
export interface FormValues {
  readonly form: DiiForm;
  readonly values: readonly string[];
  readonly positions: readonly number[];
}

export interface DiiBatch<D extends Dii> extends Batch<D> {
  readonly diis: readonly D[];
  /** One entry for each form in the batch. DII in none of them is not sent, because it is invalid or longer than a request. */
  readonly forms: readonly FormValues[];
}

export function createDiiBatch<D extends Dii>(maxBytes: number, hashLocally: HashLocally): DiiBatch<D> {
  const reserve = createCapacity(maxBytes);
  const diis: D[] = [];
  const forms: { form: DiiForm; values: string[]; positions: number[] }[] = [];

  const entryOf = (form: DiiForm) => {
    for (const entry of forms) if (entry.form === form) return entry;
    const entry = { form, values: [], positions: [] };
    forms.push(entry);
    return entry;
  };

  return {
    diis,
    forms,
    add: (dii) => {
      const { form, value } = sentDii(dii, hashLocally);
      const bytes = value === undefined ? 0 : jsonBytes(value);
      // A value longer than a whole request cannot be a valid address or number.
      const isSent = value !== undefined && bytes <= maxBytes;
      if (!reserve(isSent ? bytes : 0)) return false;
      const position = diis.push(dii) - 1;
      if (!isSent) return true;
      const entry = entryOf(form);
      entry.values.push(value);
      entry.positions.push(position);
      return true;
    },
  };
}
