import { expect, test } from 'vitest';
import { availableCores } from '../../src/cli/operator/available-cores.ts';

const V1 = '4:memory:/docker/1\n3:cpu,cpuacct:/docker/1\n0::/\n';

test.each<[what: string, files: Record<string, string>, cores: number]>([
  ['no control groups', {}, 8],
  ['no quota', { '/proc/self/cgroup': '0::/\n', '/sys/fs/cgroup/cpu.max': 'max 100000\n' }, 8],
  ['that of a container', { '/proc/self/cgroup': '0::/\n', '/sys/fs/cgroup/cpu.max': '250000 100000\n' }, 2],
  ['less than one core', { '/proc/self/cgroup': '0::/\n', '/sys/fs/cgroup/cpu.max': '50000 100000\n' }, 1],
  ['more than there are', { '/proc/self/cgroup': '0::/\n', '/sys/fs/cgroup/cpu.max': '900000 100000\n' }, 8],
  [
    'that of a service, and the smaller one of the group around it',
    {
      '/proc/self/cgroup': '0::/system.slice/tessera.service\n',
      '/sys/fs/cgroup/system.slice/tessera.service/cpu.max': '400000 100000\n',
      '/sys/fs/cgroup/system.slice/cpu.max': '300000 100000\n',
    },
    3,
  ],
  [
    'version 1, where the path is that of the host',
    {
      '/proc/self/cgroup': V1,
      '/sys/fs/cgroup/cpu/cpu.cfs_quota_us': '200000\n',
      '/sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000\n',
    },
    2,
  ],
  [
    'version 1 without a quota',
    {
      '/proc/self/cgroup': V1,
      '/sys/fs/cgroup/cpu/docker/1/cpu.cfs_quota_us': '-1\n',
      '/sys/fs/cgroup/cpu/docker/1/cpu.cfs_period_us': '100000\n',
    },
    8,
  ],
])('--processes auto respects the CPU quota: %s', (_, files, cores) => {
  expect(availableCores(8, (file) => files[file])).toBe(cores);
});
