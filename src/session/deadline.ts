/** Bounded waiting: the one place where a promise is raced against time. Knows nothing of what is awaited. */

import { TokenError } from '../token/errors.ts';

/**
 * Wait for `work`, at most `ms`.
 *
 * @param work   keeps running after the deadline; what it brings then is ignored.
 * @throws {TokenError} `timeout` once `ms` have passed; else whatever `work` rejects with.
 */
export const within = <T>(ms: number, work: Promise<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new TokenError('timeout', `no answer in ${ms} ms`)), ms);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
