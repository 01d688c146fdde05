/**
 * `npm run fresh`: runs the commands of the README as on a new machine, and measures each step.
 *
 * Each command gets a new clone of HEAD, an empty npm cache, an empty temporary folder and an empty home. Installed browsers are
 * hidden (`TESSERA_ENGINES=packaged`). `npm run fresh demo` and `npm run fresh test` run one of the two; arguments after `test`
 * are passed to vitest. Uncommitted changes are not tested.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const repository = fileURLToPath(new URL('../..', import.meta.url));

const steps: [name: string, seconds: number][] = [];
const timed = async (name: string, work: () => Promise<void>): Promise<void> => {
  const from = performance.now();
  console.log(`\n== ${name}`);
  await work();
  steps.push([name, (performance.now() - from) / 1000]);
};

/** The variables of npm, of the tests and of engines, which a new machine does not have. */
const OWN =
  /^(npm_(lifecycle|package|config_cache|config_prefix)|TESSERA_|CHROMIUM$|FIREFOX$|CI$|NODE_OPTIONS$|VITEST)/i;

/** Return the environment of a new machine. Registry, proxy and certificates are those of this machine. */
const environmentIn = (folder: string): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !OWN.test(name))),
  // `npm run` adds the programs of this clone to the path.
  PATH: (process.env['PATH'] ?? '')
    .split(delimiter)
    .filter((entry) => !entry.includes('node_modules') && !entry.includes('node-gyp-bin'))
    .join(delimiter),
  HOME: join(folder, 'home'),
  TMPDIR: join(folder, 'tmp'),
  npm_config_cache: join(folder, 'npm-cache'),
  npm_config_userconfig: process.env['npm_config_userconfig'] ?? join(process.env['HOME'] ?? '', '.npmrc'),
  TESSERA_ENGINES: 'packaged',
});

interface Machine {
  readonly clone: string;
  readonly env: NodeJS.ProcessEnv;
}

const succeed = async (child: ChildProcess, command: string): Promise<void> => {
  const [code, signal] = await once(child, 'exit');
  if (code !== 0) throw new Error(`${command}: expected exit code 0, got ${code ?? signal}`);
};

const run = (command: string, args: readonly string[], cwd: string, env?: NodeJS.ProcessEnv): Promise<void> =>
  succeed(spawn(command, args, { cwd, stdio: 'inherit', ...(env && { env }) }), [command, ...args].join(' '));

/** Run `work` on a new machine, then remove the machine. */
const onNewMachine = async (work: (machine: Machine) => Promise<void>): Promise<void> => {
  const folder = await mkdtemp(join(tmpdir(), 'tessera-fresh-'));
  try {
    const clone = join(folder, 'clone');
    for (const name of ['home', 'tmp']) await mkdir(join(folder, name));
    await timed('git clone', () => run('git', ['clone', '--quiet', '--no-hardlinks', repository, clone], folder));
    const env = environmentIn(folder);
    await timed('npm ci', () => run('npm', ['ci'], clone, env));
    await work({ clone, env });
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
};

/** Start the demo, wait until its first page answers, and stop it as Ctrl-C does. */
const tryDemo = async ({ clone, env }: Machine): Promise<void> => {
  // A separate process group, so that the signal reaches npm and its child processes.
  const child = spawn('npm', ['run', 'demo'], {
    cwd: clone,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`npm run demo: expected a page, got exit code ${code}`);
  });
  const answered = async () => {
    for await (const line of createInterface(child.stdout)) {
      console.log(line);
      const url = /^\s*demo +(http:\S+)/.exec(line)?.[1];
      if (url === undefined) continue;
      const response = await fetch(url);
      if (!(await response.text()).includes('<!doctype html>')) throw new Error(`${url}: expected a page, got another`);
      return;
    }
  };
  try {
    await Promise.race([answered(), ended]);
  } finally {
    ended.catch(() => {});
    if (child.exitCode === null) process.kill(-child.pid!, 'SIGINT');
    await ended.catch(() => {});
  }
};

const [only, ...args] = process.argv.slice(2);
if (only !== undefined && only !== 'demo' && only !== 'test')
  throw new RangeError(`npm run fresh: expected demo, test or nothing, got ${only}`);
try {
  if (only !== 'test')
    await onNewMachine((machine) => timed('npm run demo, until its page answers', () => tryDemo(machine)));
  if (only !== 'demo')
    await onNewMachine(({ clone, env }) =>
      timed('npm test', () => run('npm', ['test', ...(args.length > 0 ? ['--', ...args] : [])], clone, env)),
    );
} finally {
  console.log(`\n${steps.map(([name, seconds]) => `${seconds.toFixed(1).padStart(7)} s  ${name}`).join('\n')}`);
}
