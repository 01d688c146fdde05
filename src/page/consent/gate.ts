/** What all gates share, and the combination of several. This file knows no CMP and no law. */

import { isDevelopment } from '../../token/development.ts';

/** Answers whether there is consent, at once or later, and calls `onChange` for every later change. Only `true` is consent. */
export type ConsentGate = (onChange: (granted: boolean) => void) => boolean | Promise<boolean>;

/** `start` is called once for each caller of the gate. `undefined` is no decision. */
export function createGate(start: (decide: (granted: boolean | undefined) => void) => void): ConsentGate {
  return (onChange) => {
    let latest: boolean | undefined;
    const first = new Promise<boolean>((resolve) =>
      start((granted) => {
        if (granted === undefined) return;
        // The caller receives the first answer one microtask after `resolve`. A change in the same task must come later.
        if (latest === !granted)
          Promise.resolve()
            .then()
            .then(() => onChange(latest!));
        latest = granted;
        resolve(granted);
      }),
    );
    return latest ?? first;
  };
}

/**
 * Combine gates: yes when all of them say yes, no as soon as one says no, and no decision until then. A gate that throws or rejects says
 * no, and so does any value but `true`. A first answer after a call of `onChange` does not count. Without gates the answer is no.
 *
 * @example createSession({ baseUrl, consent: allOf(tcfConsent(), gpcConsent()) });
 */
export function allOf(...gates: readonly ConsentGate[]): ConsentGate {
  return createGate((decide) => {
    const answers = gates.map((): boolean | undefined => undefined);
    const update = () =>
      decide(gates.length > 0 && !answers.includes(false) && (answers.includes(undefined) ? undefined : true));
    if (isDevelopment && !gates.length)
      console.warn('[tessera] allOf: expected a gate, got none; this counts as a refusal');
    gates.forEach((gate, i) => {
      let hasChanged = false;
      const set = (granted: unknown, ...thrown: unknown[]) => {
        if (isDevelopment && typeof granted !== 'boolean') warnOf(i, granted, thrown);
        answers[i] = granted === true;
        update();
      };
      const setFirst = (granted: unknown) => hasChanged || set(granted);
      const fail = (thrown: unknown) => set(null, thrown);
      try {
        const answer: unknown = gate((granted) => {
          hasChanged = true;
          set(granted);
        });
        if (isThenable(answer)) answer.then(setFirst, fail);
        else setFirst(answer);
      } catch (thrown) {
        fail(thrown);
      }
    });
    update();
  });
}

/** Self-contained, because an adapter is one file. */
function warnOf(i: number, answer: unknown, thrown: readonly unknown[]): void {
  const got = answer === null ? 'null' : `a ${typeof answer}`;
  const what = thrown.length ? 'failed' : `expected boolean or a promise of one, got ${got}`;
  console.warn(`[tessera] allOf: gate ${i + 1}: ${what}; this counts as a refusal`, ...thrown);
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | undefined)?.then === 'function';
}
