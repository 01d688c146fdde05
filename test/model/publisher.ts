/** The publisher's server, as the `provide` option asks it for sets, and its faults. It does not know the session. */

import type { ProvideOption, ProvideRequest } from '../../src/session/index.ts';
import type { Random } from './random.ts';
import type { Issued, Service } from './service.ts';
import type { Tab } from './tab.ts';
import type { Time } from './time.ts';

/** `nobody`: it answers 204. `hangs`: it never answers, even if aborted. */
export const PROVIDE_FAULTS = ['throws', 'rejects', 'hangs', 'nonsense', 'nobody'] as const;
export type ProvideFault = 'none' | (typeof PROVIDE_FAULTS)[number];

/**
 * Build the publisher's server.
 *
 * @param onAnswer  called with each answer to a page: a set, or undefined for an opt-out.
 */
export const createPublisher = (
  time: Time,
  random: Random,
  service: Service,
  onAnswer: (asker: Tab, issued: Issued | undefined) => void,
) => {
  let fault: ProvideFault = 'none';
  let calls = 0;
  /** The user who is signed in. */
  let signedIn: string | undefined;

  const answer = async (asker: Tab, user: string): Promise<unknown> => {
    const { answer, issued } = await service.generate(user);
    onAnswer(asker, issued);
    return answer;
  };

  const provide = (asker: Tab, { signal }: ProvideRequest): ReturnType<ProvideOption> => {
    calls++;
    if (fault === 'throws') throw new Error('injected fault');
    const user = signedIn;
    const why = fault;
    return new Promise((resolve, reject) => {
      if (why === 'hangs') return;
      signal.addEventListener('abort', () => reject(new Error('aborted')));
      time.after(random.integer(20, 400), () => {
        if (why === 'rejects') reject(new Error('injected fault'));
        else if (why === 'nonsense') resolve({ status: 'success', body: { advertising_token: 7 } } as never);
        else if (why === 'nobody') resolve({ status: 204 } as never);
        else if (!user) resolve(null);
        else
          void time.outside(
            answer(asker, user).then((set) => void time.after(random.integer(5, 100), () => resolve(set as never))),
          );
      });
    });
  };

  return {
    provide,
    /** How often it was asked. */
    calls: () => calls,
    signIn: (user: string | undefined) => {
      signedIn = user;
    },
    isSignedIn: (user: string): boolean => signedIn === user,
    setFault: (to: ProvideFault) => {
      fault = to;
    },
  };
};
