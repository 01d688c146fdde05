/**
 * A process that maps people who are nobody: says `{"ready":true}`, waits for a line on its input, maps, says how many
 * are mapped after each chunk, and at its end what it has come to. Killed in between by the test.
 */

import { createInterface } from 'node:readline';
import { createMappings } from '../../src/mapping/index.ts';
import { createClient } from '../../src/server/index.ts';

const { database, service, count, at } = JSON.parse(process.argv[2]!);
const say = (said: object): void => console.log(JSON.stringify(said));

function* people(): Generator<{ email: string }> {
  for (let i = 0; i < count; i++) yield { email: `person-${i}@example.com` };
}

const now = () => at;
const mappings = await createMappings({ client: createClient({ ...service, now }), database, now, workers: 1 });
say({ ready: true });
for await (const _ of createInterface({ input: process.stdin })) break;
const done = await mappings.map(people(), { onProgress: say });
// Before it says so: somebody else wants the folder then.
await mappings.close();
say({ done });
process.exit();
