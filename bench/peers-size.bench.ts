/** What a client adds to a page: bytes of brotli 11, minified by the same bundler, of this runtime and its peers. */

import { figure, type Measurement } from './measure.ts';
import { peers } from './peers/list.ts';
import { sizeOf, versionOf } from './peers/scripts.ts';

export const measure = async (): Promise<Measurement[]> => {
  const measured: Measurement[] = [];
  for (const peer of peers) {
    const { bytes, beside } = await sizeOf(peer);
    measured.push({
      what: `script size, brotli, ${peer.label} ${await versionOf(peer)}`,
      value: bytes,
      unit: 'bytes',
      beside,
      point: { chart: 'size', series: peer.label, text: `${figure(bytes / 1000)} kB` },
    });
  }
  return measured;
};
