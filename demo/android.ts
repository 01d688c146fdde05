/**
 * The Android app of `test/hosts/android/`: the library of `hosts/android/`, compiled with stubs of the Android classes that it uses, and
 * run on a JVM. The webview page of the demo and the tests run it. Only a clone of the repository has the files.
 */

import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { root } from '../build/dist.ts';
import { install } from '../build/packages.ts';

const LIBRARY = 'hosts/android/src/main/kotlin/id/tessera/host';
const RIG = 'test/hosts/android';
const KOTLIN = `${root}test/hosts/node_modules/kotlin-compiler`;

function findJava(): string | undefined {
  return ['/usr/bin/java', `${process.env['JAVA_HOME'] ?? ''}/bin/java`].find((path) => existsSync(path));
}

/** Return what must be installed to run the app; undefined if nothing. */
export function missingForApp(): string | undefined {
  if (!existsSync(root + LIBRARY)) return 'a clone of the repository';
  return findJava() ? undefined : 'Java 17 (default-jre-headless)';
}

/**
 * Compile the app, unless the same was compiled before, and return the folder of its classes. Takes up to a minute.
 *
 * @param more  files of Kotlin to compile with it.
 */
export async function compileApp(more: readonly string[] = []): Promise<string> {
  await install('test/hosts');
  const found = await Promise.all(
    [LIBRARY, RIG, `${RIG}/stubs`].map(async (folder) =>
      (await readdir(root + folder)).map((name) => `${folder}/${name}`),
    ),
  );
  const files = found.flat().flatMap((name) => (name.endsWith('.kt') ? [root + name] : []));
  const hash = createHash('sha256')
    .update(await readFile(`${root}test/hosts/package-lock.json`))
    .update(more.join('\0'));
  for (const file of files) hash.update(await readFile(file));
  const folder = `${root}test-output/android/${hash.digest('hex').slice(0, 16)}`;
  if (existsSync(folder)) return folder;
  const building = `${folder}-${process.pid}`;
  await mkdir(building, { recursive: true });
  const added = more.map((_, index) => `${building}/More${index}.kt`);
  for (const [index, file] of added.entries()) await writeFile(file, more[index]!);
  const compiler = ['-cp', `${KOTLIN}/lib/kotlin-compiler.jar`, 'org.jetbrains.kotlin.cli.jvm.K2JVMCompiler'];
  const options = ['-kotlin-home', KOTLIN, '-no-reflect', '-Werror', '-d', building];
  try {
    await promisify(execFile)(findJava()!, [
      ...['-Xmx1g', '-cp', `${KOTLIN}/lib/kotlin-preloader.jar`, 'org.jetbrains.kotlin.preloading.Preloader'],
      ...[...compiler, ...options, ...files, ...added],
    ]);
    // Another process may have compiled the same in the meantime.
    await rename(building, folder).catch(() => {});
  } finally {
    await rm(building, { recursive: true, force: true });
  }
  return folder;
}

/** The class path of a program. */
function pathOf(classes: string): string {
  return [classes, `${KOTLIN}/lib/kotlin-stdlib.jar`].join(':');
}

/** Drive the library's machine through the cases of a file; returns the cases as it has carried them out. */
export async function runContract(classes: string, file: string): Promise<string> {
  const command = ['-cp', pathOf(classes), 'id.tessera.host.ContractKt', file];
  return (await promisify(execFile)(findJava()!, command)).stdout;
}

/** A line of the app: a message to a page, an event of its listener, a line of its log, or the end of a command. */
export interface Said {
  readonly page?: string;
  readonly text?: string;
  readonly event?: 'token' | 'needsTokens';
  readonly value?: string | null;
  readonly log?: string;
  readonly done?: number;
  readonly error?: string | null;
}

/** Run the app of {@link compileApp}; `hear` receives what it says. */
export function runApp(classes: string, hear: (said: Said) => void) {
  const app = spawn(findJava()!, ['-Xmx128m', '-cp', pathOf(classes), 'id.tessera.host.RigKt'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = new Promise((resolve) => app.once('close', resolve));
  const pending = new Map<number | undefined, { resolve(value: unknown): void; reject(error: Error): void }>();
  createInterface({ input: app.stdout }).on('line', (line) => {
    // The JVM writes its warnings there too.
    if (!line.startsWith('{')) return;
    const said = JSON.parse(line) as Said;
    hear(said);
    const waiting = pending.get(said.done);
    if (said.error === undefined) waiting?.resolve(said.value);
    else waiting?.reject(new Error(`${said.error}`));
    pending.delete(said.done);
  });
  const end = (error: Error) => {
    for (const { reject } of pending.values()) reject(error);
    pending.clear();
  };
  app.on('error', end);
  app.once('close', () => end(new Error('the app has ended')));
  app.stdin.on('error', end);
  let count = 0;
  return {
    /** Carry out a command of `Rig.kt`; returns its value. */
    call: (command: string, more: object | string = {}): Promise<unknown> =>
      new Promise((resolve, reject) => {
        const number = count++;
        pending.set(number, { resolve, reject });
        const members = typeof more === 'string' ? { text: more } : more;
        app.stdin.write(`${JSON.stringify({ ...members, do: command, number })}\n`, (error) => {
          if (error) reject(error);
        });
      }),
    stop: async (): Promise<void> => {
      app.stdin.end();
      await ended;
    },
  };
}
