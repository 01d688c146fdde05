/** Starts the proxies whose configurations are in `deploy/`, with ports, names and folders of the tests. */

import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { root } from '../../build/dist.ts';

export interface ProxySettings {
  readonly folder: string;
  readonly port: number;
  /** The ports of the nodes, as many as the proxy's `nodes`. */
  readonly nodePorts: readonly number[];
  /** The addresses of a CDN in front of the proxy. Only for nginx. */
  readonly cdn?: string;
}

export interface Proxy {
  readonly file: string;
  readonly program: string;
  readonly isInstalled: boolean;
  /** The number of nodes that its configuration names. */
  readonly nodes: number;
  /** Whether this version sends a request to another node if the first one refuses the connection. */
  readonly canRepeat: boolean;
  start(settings: ProxySettings): Promise<ChildProcess>;
}

const configuration = (file: string): Promise<string> => readFile(`${root}deploy/${file}`, 'utf8');

const CADDY = process.env['CADDY'] ?? '/usr/bin/caddy';

const startCaddy = async ({ folder, port, nodePorts }: ProxySettings): Promise<ChildProcess> => {
  // Nothing outside of this folder: no port below 1024, no certificate in the store of the machine.
  const global = `{\n\tadmin off\n\tskip_install_trust\n\tauto_https disable_redirects\n\thttps_port ${port}\n\tstorage file_system ${folder}\n}\n`;
  await writeFile(join(folder, 'Caddyfile'), global + (await configuration('Caddyfile')));
  const env = {
    TESSERA_DOMAIN: 'localhost',
    TESSERA_OPERATOR: 'localhost',
    TESSERA_OPERATOR_PORT: `${nodePorts[0]}`,
    HOME: folder,
    PATH: process.env['PATH'],
  };
  const args = ['run', '--config', join(folder, 'Caddyfile'), '--adapter', 'caddyfile'];
  return spawn(CADDY, args, { env, cwd: folder, stdio: 'ignore' });
};

const NGINX = process.env['NGINX'] ?? '/usr/sbin/nginx';

const isAtLeast = (version: readonly [number, number, number], program: string, argument: string): boolean => {
  // nginx writes its version to standard error.
  const text = execFileSync('sh', ['-c', '"$0" "$1" 2>&1', program, argument], { encoding: 'utf8' });
  const [major, minor, patch] = text
    .match(/(\d+)\.(\d+)\.(\d+)/)!
    .slice(1)
    .map(Number);
  const rankOf = (numbers: readonly number[]) => numbers.reduce((rank, number) => rank * 1000 + number, 0);
  return rankOf([major!, minor!, patch!]) >= rankOf(version);
};

const startNginx = async ({ folder, port, nodePorts, cdn }: ProxySettings): Promise<ChildProcess> => {
  const knowsHttp2 = isAtLeast([1, 25, 1], NGINX, '-v');
  const pem = join(folder, 'localhost.pem');
  const key = join(folder, 'localhost.key');
  const options = ['-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost'];
  await promisify(execFile)('openssl', ['req', ...options, '-keyout', key, '-out', pem]);
  const values = [
    ['10.0.0.11:8080', `127.0.0.1:${nodePorts[0]}`],
    ['10.0.0.12:8080', `127.0.0.1:${nodePorts[1]}`],
    ['server_name id.example', 'server_name localhost'],
    ['/etc/ssl/certs/id.example.pem', pem],
    ['/etc/ssl/private/id.example.key', key],
    ['/var/log/nginx/tessera.log', join(folder, 'access.log')],
    // The change for an earlier version is the one that the file describes.
    ...(knowsHttp2 ? [] : [['http2 on;', '']]),
    ...(cdn === undefined
      ? []
      : [
          ['# set_real_ip_from 198.51.100.0/24', `set_real_ip_from ${cdn}`],
          ['# real_ip_header', 'real_ip_header'],
          ['# real_ip_recursive', 'real_ip_recursive'],
        ]),
    ['listen 443 ssl', `listen 127.0.0.1:${port} ssl${knowsHttp2 ? '' : ' http2'}`],
  ] as const;
  let site = await configuration('nginx.conf');
  for (const [shown, ours] of values) {
    if (!site.includes(shown)) throw new Error(`deploy/nginx.conf: expected "${shown}"`);
    site = site.replace(shown, ours);
  }
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${join(folder, name)};`)
    .join('\n');
  const main = `daemon off;\nworker_processes 2;\npid ${join(folder, 'nginx.pid')};\nerror_log ${join(folder, 'error.log')} warn;
events {}
http {\n${temporary}\n${site}\n}\n`;
  await writeFile(join(folder, 'nginx.conf'), main);
  return spawn(NGINX, ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', join(folder, 'error.log')], {
    stdio: 'ignore',
  });
};

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

const [hasCaddy, hasNginx] = await Promise.all([exists(CADDY), exists(NGINX)]);

export const PROXIES: readonly Proxy[] = [
  {
    file: 'Caddyfile',
    program: CADDY,
    isInstalled: hasCaddy,
    nodes: 1,
    // Caddy's issue 7546: earlier versions answer 502.
    canRepeat: hasCaddy && isAtLeast([2, 11, 2], CADDY, 'version'),
    start: startCaddy,
  },
  { file: 'nginx.conf', program: NGINX, isInstalled: hasNginx, nodes: 2, canRepeat: hasNginx, start: startNginx },
];

export const stopProxy = async (proxy: ChildProcess): Promise<void> => {
  const exit = once(proxy, 'exit');
  if (proxy.exitCode === null && proxy.kill()) await exit;
};
