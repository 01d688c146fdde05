/** The floor of a client whose store is localStorage: read one value and parse it. Also sends the bare echo of a refresh. */

import { parameters, visit } from './visit.ts';

const read = async (): Promise<string | undefined> => JSON.parse(localStorage.getItem('bare') ?? '{}').token;

visit({
  signIn: async () => localStorage.setItem('bare', JSON.stringify({ token: 'x'.repeat(1000) })),
  open: read,
  ask: read,
  refresh: async () => {
    const answer = await fetch(`${parameters().issuer}/echo`, { method: 'POST', body: 'x'.repeat(1500) });
    return answer.text();
  },
});
