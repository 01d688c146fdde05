/**
 * Refreshes per second over HTTP on loopback, compared with a bare Hono route on the same Node server that receives the same
 * refresh token and sends it back. Each server has its own process; this one generates the load.
 */

import { compare, figure, type Measurement, median } from './measure.ts';
import { type Child, start } from './support/child.ts';
import { type Load, openLoad, type Target } from './support/load.ts';

const CONNECTIONS = 32;
const ROUND_MS = 700;

export const measure = async (): Promise<Measurement[]> => {
  const operator = await start<Target>('refresh-operator.ts');
  const echo = await start<Target>('refresh-echo.ts');
  const ours = await openLoad(operator.message, CONNECTIONS);
  const bare = await openLoad({ ...operator.message, ...echo.message }, CONNECTIONS);

  // CPU time of the servers, which load generator and other processes do not distort.
  const spent = { operator: [] as number[], echo: [] as number[] };
  const round = (name: keyof typeof spent, load: Load, server: Child<Target>) => async () => {
    await server.busy();
    const rate = await load.run(ROUND_MS);
    spent[name].push(((await server.busy()) / rate) * 1e6);
    return rate;
  };
  const compared = await compare(
    { rounds: 16, warmUp: 4 },
    round('operator', ours, operator),
    round('echo', bare, echo),
  );
  const [each, eachEcho] = [median(spent.operator), median(spent.echo)];
  for (const it of [ours, bare]) it.close();
  for (const it of [operator, echo]) it.stop();
  return [
    {
      what: 'refreshes a second over HTTP, of those of a bare echo',
      value: compared.ratio,
      unit: 'x',
      limit: { atLeast: 0.5 },
      beside: `${figure(compared.ours)} requests/s; echo ${figure(compared.peer)}`,
    },
    {
      what: 'CPU time of one refresh over HTTP',
      value: each,
      unit: 'us',
      beside: `echo: ${figure(eachEcho)} us`,
    },
  ];
};
