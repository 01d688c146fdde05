/** Reporter of `npm run test:times`: seconds of worker time, by project and by file, the slowest first. */

import type { Reporter, TestModule } from 'vitest/node';

const seconds = (ms: number): string => (ms / 1000).toFixed(1);

/** Time of a file in its worker, in milliseconds: preparation, imports, hooks and tests. */
const timeOf = (module: TestModule): number => {
  const spent = module.diagnostic();
  return (
    spent.environmentSetupDuration +
    spent.prepareDuration +
    spent.setupDuration +
    spent.collectDuration +
    spent.duration
  );
};

export default class Times implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const projects = new Map<string, TestModule[]>();
    for (const module of modules) {
      const { name } = module.project;
      projects.set(name, [...(projects.get(name) ?? []), module]);
    }
    for (const [name, files] of projects) {
      const timed = files.map((file) => ({ file, ms: timeOf(file) })).sort((a, b) => b.ms - a.ms);
      const total = timed.reduce((sum, { ms }) => sum + ms, 0);
      console.log(`\n| ${name}: ${files.length} files | ${seconds(total)} s |\n|---|---:|`);
      for (const { file, ms } of timed) console.log(`| ${file.relativeModuleId} | ${seconds(ms)} |`);
    }
  }
}
