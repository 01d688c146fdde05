/**
 * `npm run compare`: measures the scenarios of "Side by side, recorded" in about five minutes and writes their figures to
 * `demo/page/recorded.json`, which the demo shows, and a picture of them to `docs/compare-light.svg` and `docs/compare-dark.svg`.
 * `npm run compare -- NAME...` measures some of them again, with the same clients, and `-- --draw` none.
 *
 * The UID2 JavaScript SDK takes part if TESSERA_INCUMBENT is the path of a copy of its script.
 */

import { readFile, writeFile } from 'node:fs/promises';
import { VARIANTS } from '../../build/calls.ts';
import { ensureDist, root } from '../../build/dist.ts';
import { incumbent, type Peer, peers } from '../peers/list.ts';
import { versionOf } from '../peers/scripts.ts';
import { type Comparison, inComparison } from '../peers/site.ts';
import { origin } from '../report/results.ts';
import { drawRecorded, type Recorded, type Row } from './draw.ts';
import { outage, SCENARIOS } from './scenarios.ts';

const FIGURES = `${root}demo/page/recorded.json`;
const HOUR = 'an hour of 503; tokens are due after 10 min, expire after 30';

/** The clients that can take part here, Tessera first. */
export const clientsHere = (): readonly Peer[] => {
  const [tessera, prebid] = peers;
  return [tessera!, ...(process.env['TESSERA_INCUMBENT'] ? [incumbent] : []), prebid!];
};

/** The SDK knows its version only on a page. */
const versionHere = async ({ profile, open }: Comparison, peer: Peer): Promise<string> => {
  if (peer !== incumbent) return versionOf(peer);
  const context = await profile();
  const page = await open(context, { page: peer.name, run: 'version', signIn: true });
  const version = await page.evaluate<string>('String(__uid2.constructor.VERSION)');
  await context.close();
  return version;
};

const outageRows = async (clients: readonly Peer[]): Promise<Row[]> => {
  const all = [...(await outage())];
  const found = clients.map(({ label }) => all.find(([title]) => title.split(/\W/)[0] === label.split(/\W/)[0])?.[1]);
  return [
    { title: 'Outage: requests', axis: HOUR, unit: '', values: found.map((one) => one?.refreshes ?? null) },
    {
      title: 'Outage: minutes without a valid token',
      axis: 'the same outage; 30 at best',
      unit: 'min',
      values: found.map((one) => one?.withoutS ?? null),
    },
  ];
};

/** Measure some scenarios, all clients of one after the other. */
export async function record(names: readonly string[], clients: readonly Peer[]): Promise<Recorded> {
  const from = origin();
  return inComparison(
    async (comparison) => {
      const versions: Recorded['clients'][number][] = [];
      for (const peer of clients) versions.push({ label: peer.label, version: await versionHere(comparison, peer) });
      const rows: Row[] = [];
      for (const name of names) {
        const { measure, ...texts } = SCENARIOS[name]!;
        const values = await measure(comparison, clients);
        rows.push({ ...texts, values });
        console.log(texts.title, values);
      }
      return {
        ...from,
        engine: comparison.engine,
        clients: versions,
        ...(!clients.includes(incumbent) && {
          missing: 'Not measured: the UID2 JavaScript SDK, which needs a copy of its script in TESSERA_INCUMBENT.',
        }),
        rows,
      };
    },
    clients.map(({ name }) => name),
  );
}

const readFigures = async () => JSON.parse(await readFile(FIGURES, 'utf8')) as Recorded;

if (process.argv[1] === import.meta.filename) {
  const wanted = process.argv.slice(2);
  const names = [...Object.keys(SCENARIOS), 'outage'].filter((name) => !wanted.length || wanted.includes(name));
  if (names.length) {
    await ensureDist();
    const clients = clientsHere();
    const recorded = await record(
      names.filter((name) => name !== 'outage'),
      clients,
    );
    const rows = [...recorded.rows, ...(names.includes('outage') ? await outageRows(clients) : [])];
    const others = wanted.length ? (await readFigures()).rows : rows;
    const kept = others.map((old) => rows.find(({ title }) => title === old.title) ?? old);
    await writeFile(FIGURES, `${JSON.stringify({ ...recorded, rows: kept }, undefined, 2)}\n`);
  }
  const recorded = await readFigures();
  for (const [name, colours] of Object.entries(VARIANTS))
    await writeFile(`${root}docs/compare-${name}.svg`, drawRecorded(recorded, colours));
}
