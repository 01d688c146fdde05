/**
 * A process that maps invented people: prints `{"ready":true}`, waits for a line on its input, maps, and prints the progress after
 * each chunk and the summary at the end. The test kills it in between.
 */

import { createInterface } from 'node:readline';
import { createMappings } from '../../src/mapping/index.ts';
import { createClient } from '../../src/server/index.ts';

const { database, service, count, at } = JSON.parse(process.argv[2]!);
const print = (value: object): void => console.log(JSON.stringify(value));

function* people(): Generator<{ email: string }> {
  for (let i = 0; i < count; i++) yield { email: `person-${i}@example.com` };
}

const now = () => at;
const mappings = await createMappings({ client: createClient({ ...service, now }), database, now, workers: 1 });
print({ ready: true });
for await (const _ of createInterface({ input: process.stdin })) break;
const done = await mappings.map(people(), { onProgress: print });
// Close first: the test opens the folder when it reads the summary.
await mappings.close();
print({ done });
process.exit();
