import { expect, test, vi } from 'vitest';
import type { Io } from '../../src/cli/io.ts';
import { announceCredentials } from '../../src/cli/operator/credentials.ts';
import { createOperator } from '../../src/operator/index.ts';

test('the operator is asked once which credentials it has generated, however many participants there are', async () => {
  const operator = createOperator({ participants: [1, 2, 3, 4].map((siteId) => ({ siteId })) });
  await operator.ready;
  const generated = vi.spyOn(operator, 'generated', 'get');
  const lines: string[] = [];
  const io: Pick<Io, 'out' | 'err'> = { out: (line) => lines.push(line), err: () => {} };
  await announceCredentials(operator, 'http://127.0.0.1:8080', {}, io as Io);
  expect(lines.filter((line) => line.startsWith('# site'))).toHaveLength(4);
  expect(generated).toHaveBeenCalledTimes(1);
  await operator.close();
});
