/**
 * Installs packages that only few tasks need. Each such folder has a package.json and a lock file of its own, which `npm ci` in
 * the repository leaves alone: the benchmarks, the documentation, mutation testing, Prebid, and what uses the packed package.
 *
 * `tsx build/packages.ts FOLDER...` installs on first use, and again when the lock file has changed. Scripts of package.json run
 * it; tests call `install`.
 */

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const root = fileURLToPath(new URL('..', import.meta.url));

function textOf(file: string): Promise<string | undefined> {
  return readFile(file, 'utf8').catch(() => undefined);
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** How long a test's hook may take that installs packages, ms. */
export const INSTALL_MS = 600_000;

/** Take the lock, which names the process that holds it; return whether this process has it now. */
async function take(lock: string): Promise<boolean> {
  const isTaken = await writeFile(lock, `${process.pid}`, { flag: 'wx' }).then(
    () => true,
    (error) => {
      if (error.code === 'EEXIST') return false;
      throw error;
    },
  );
  const holder = Number(await textOf(lock));
  // The holder was killed. A lock that was only just created is empty.
  if (!isTaken && holder && !isRunning(holder)) await rm(lock, { force: true });
  return isTaken;
}

async function npmCi(name: string): Promise<void> {
  console.error(`${name}: installing its packages (npm ci)`);
  const isWindows = process.platform === 'win32';
  const command = promisify(execFile);
  // A build with Vite sets NODE_ENV to production in its process, with which npm would leave out all of these packages.
  const args = ['ci', '--include=dev'];
  try {
    const { stdout, stderr } = await command(isWindows ? 'npm.cmd' : 'npm', args, {
      cwd: root + name,
      shell: isWindows,
    });
    if (!existsSync(`${root + name}/node_modules`))
      throw new Error(`npm has ended, and has installed nothing\n${stdout}${stderr}`);
  } catch (error) {
    const { stdout, stderr, message } = error as { stdout?: string; stderr?: string; message: string };
    throw new Error(
      `${name}: could not install its packages; run npm ci in ${name}/\n${message}\n${stdout ?? ''}${stderr ?? ''}`,
    );
  }
}

/**
 * Install the packages of a folder unless they are those of its lock file. Other processes that need them wait.
 *
 * @param name  the folder, from the root of the repository.
 * @throws {Error} if `npm ci` fails, with what it printed.
 */
export async function install(name: string): Promise<void> {
  const wanted = await readFile(`${root + name}/package-lock.json`, 'utf8');
  // What was installed last: npm leaves no copy of the lock file itself.
  const stamp = `${root + name}/node_modules/.installed-lock.json`;
  // One for all folders, in one that no installation deletes.
  const lock = `${root}node_modules/.installing`;
  while ((await textOf(stamp)) !== wanted) {
    if (!(await take(lock))) {
      await sleep(200);
      continue;
    }
    try {
      if ((await textOf(stamp)) === wanted) return;
      await npmCi(name);
      await writeFile(stamp, wanted);
    } finally {
      await rm(lock, { force: true });
    }
  }
}

if (process.argv[1] === import.meta.filename) {
  try {
    for (const name of process.argv.slice(2)) await install(name);
  } catch (error) {
    console.error((error as Error).message);
    process.exitCode = 1;
  }
}
