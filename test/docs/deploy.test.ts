/** The files of deploy/: what they name exists, their metrics are those of a real operator, and the operator runs with them. */

import { execFile } from 'node:child_process';
import { access, readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { root } from '../../build/dist.ts';
import { INSTALL_MS } from '../../build/packages.ts';
import { createOperator, type Operator } from '../../src/operator/index.ts';
import { listen } from '../../src/operator/node.ts';
import { createClient } from '../../src/server/index.ts';
import { tessera } from '../cli/fixtures.ts';
import { emptyFolder, freshLocation } from '../database/locations.ts';
import { consumers } from '../support/packed.ts';
import { faultOf } from './commands.ts';

const deploy = `${root}deploy/`;
const textOf = (file: string): Promise<string> => readFile(deploy + file, 'utf8');
const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

interface Service {
  readonly build?: string;
  readonly image?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly secrets?: readonly string[];
  readonly networks?: readonly string[];
  readonly deploy?: { readonly replicas: number };
  readonly profiles?: readonly string[];
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly depends_on?: readonly string[] | Readonly<Record<string, object>>;
}
interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly networks: object;
  readonly volumes: object;
  readonly secrets: Readonly<Record<string, { readonly file: string }>>;
}
interface Deployment {
  readonly spec: {
    readonly template: {
      readonly metadata: { readonly labels: object; readonly annotations: Readonly<Record<string, string>> };
      readonly spec: {
        readonly terminationGracePeriodSeconds: number;
        readonly volumes: readonly { readonly secret: { readonly secretName: string } }[];
        readonly containers: readonly {
          readonly args: readonly string[];
          readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
          readonly volumeMounts: readonly { readonly mountPath: string }[];
          readonly readinessProbe: { readonly httpGet: { readonly path: string } };
        }[];
      };
    };
  };
}
interface Job {
  readonly permissions?: Readonly<Record<string, string>>;
  readonly steps: readonly { readonly run?: string }[];
}

const compose = parse(await textOf('compose.yaml')) as Compose;
const services = Object.entries(compose.services);

describe('compose.yaml', () => {
  test.each(services)(
    'the service %s names only files, networks, volumes and services that exist',
    async (_, service) => {
      for (const volume of service.volumes ?? []) {
        const [source = ''] = volume.split(':');
        if (source.startsWith('.')) expect([source, await exists(deploy + source)]).toEqual([source, true]);
        else expect(Object.keys(compose.volumes)).toContain(source);
      }
      for (const name of service.networks ?? []) expect(Object.keys(compose.networks)).toContain(name);
      for (const name of service.secrets ?? []) expect(Object.keys(compose.secrets)).toContain(name);
      const needed = service.depends_on ?? [];
      for (const name of Array.isArray(needed) ? needed : Object.keys(needed))
        expect(Object.keys(compose.services)).toContain(name);
      if (service.build) expect(await exists(join(deploy, service.build, 'Dockerfile'))).toBe(true);
    },
  );

  test('only the proxy is reachable from outside, and the database only from the operator', () => {
    const open = services.filter(([, service]) => 'ports' in service).map(([name]) => name);
    expect(open).toEqual(['proxy', 'grafana']);
    expect(compose.services['grafana']).toMatchObject({ ports: ['127.0.0.1:3000:3000'] });
    const withData = services.filter(([, { networks }]) => networks?.includes('data')).map(([name]) => name);
    expect(withData).toEqual(['operator', 'database']);
  });

  test.each(services)('the service %s has no capability that it does not list, and gains none', (name, service) => {
    expect([service.cap_drop, service.security_opt]).toEqual([['ALL'], ['no-new-privileges:true']]);
    if (name === 'operator') expect(service).toMatchObject({ read_only: true });
  });

  test('.env.example has every variable of the file, and no other', async () => {
    const used = [...(await textOf('compose.yaml')).matchAll(/\$\{([A-Z_]+)/g)].map(([, name]) => name);
    const offered = [...(await textOf('.env.example')).matchAll(/^([A-Z_]+)=$/gm)].map(([, name]) => name);
    expect(new Set(offered)).toEqual(new Set(used));
  });

  test('every variable passed to the operator is documented for the command line', async () => {
    const documented = await readFile(`${root}docs/operating/command-line.md`, 'utf8');
    for (const name of Object.keys(compose.services['operator']!.environment!))
      expect(documented).toContain(`| \`${name}\` |`);
  });
});

test('images are pinned by digest, and actions by commit; only the job that publishes may sign, and it runs no code of ours', async () => {
  const files = await readdir(`${root}.github/workflows`);
  const workflows = await Promise.all(files.map((name) => readFile(`${root}.github/workflows/${name}`, 'utf8')));
  const uses = workflows.flatMap((text) => [...text.matchAll(/uses: (.*)/g)].map(([, used]) => used));
  expect(uses.filter((used) => !/^[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(used!))).toEqual([]);
  const images = services.flatMap(([, { image, build }]) => (build ? [] : [image]));
  const [, base] = /^FROM (.*)$/m.exec(await textOf('Dockerfile'))!;
  for (const image of [...images, base]) expect(image).toMatch(/:v?\d[^@]*@sha256:[0-9a-f]{64}$/);

  const jobs = workflows.flatMap((text) => Object.entries<Job>(parse(text).jobs));
  const signing = jobs.filter(([, { permissions }]) => permissions?.['id-token']);
  expect(signing.map(([name]) => name)).toEqual(['publish']);
  const lines = signing[0]![1].steps.flatMap(({ run }) => run?.trim().split('\n') ?? []);
  expect(lines).toEqual([
    expect.stringMatching(/^npm pack npm@[\d.]+$/),
    expect.stringMatching(/^echo "\$SHA512 .* \| sha512sum --check$/),
    expect.stringMatching(/^npm install --global \.\/npm-[\d.]+\.tgz$/),
    expect.stringMatching(/^npm publish .*--ignore-scripts/),
  ]);
});

describe('Dockerfile', async () => {
  const dockerfile = await textOf('Dockerfile');
  const listOf = (instruction: string): string[] =>
    JSON.parse(new RegExp(`^${instruction} (\\[.*\\])$`, 'm').exec(dockerfile)![1]!);

  test('installs this version, and the driver that is tested, with a lock file', async () => {
    const { version, devDependencies } = JSON.parse(await readFile(`${root}package.json`, 'utf8'));
    expect(dockerfile).toContain(`ARG TESSERA=tessera-id@${version}\n`);
    expect(dockerfile).toContain('npm ci');
    const { packages } = JSON.parse(await textOf('package-lock.json'));
    expect(packages[''].dependencies).toEqual({ pg: devDependencies.pg });
  });

  test('the package that it installs has the given hash, if one is given', async () => {
    const [, script = ''] = /node -e "(const \[\{ integrity.*)" "\$INTEGRITY"/.exec(dockerfile) ?? [];
    const folder = await emptyFolder();
    const integrity = 'sha512-AAAA';
    await writeFile(join(folder, 'packed.json'), JSON.stringify([{ integrity }]));
    const check = (given: string) =>
      promisify(execFile)(process.execPath, ['-e', script, given], { cwd: folder }).then(
        () => 'passed',
        ({ stderr }) => /Error: (.*)/.exec(stderr)?.[1],
      );
    expect([await check(''), await check(integrity)]).toEqual(['passed', 'passed']);
    expect(await check('sha512-BBBB')).toBe('tessera-id has the hash sha512-AAAA');
  });

  test('its command is one of the real program', async () => {
    expect(listOf('ENTRYPOINT')).toEqual(['tini', '--', 'tessera']);
    expect(await faultOf(listOf('CMD'))).toBeUndefined();
  });

  test('its health check passes with a real operator, and fails without', async () => {
    const [, script = ''] = /HEALTHCHECK[^[]*\["node", "-e", "([^"]*)"\]/.exec(dockerfile) ?? [];
    const operator = createOperator({ roles: ['GENERATOR'] });
    const { url, close } = await listen(operator, { port: 0, graceMs: 0 });
    const check = () =>
      promisify(execFile)(process.execPath, ['-e', script.replace('http://127.0.0.1:8080', url)]).then(
        () => 0,
        ({ code }) => code,
      );
    expect(script).toContain('http://127.0.0.1:8080/ops/healthcheck');
    expect(await check()).toBe(0);
    await close();
    expect(await check()).toBe(1);
  });
});

describe('kubernetes', async () => {
  const manifests = parseAllDocuments(await textOf('kubernetes/operator.yaml')).map((one) => one.toJSON());
  const example = JSON.parse(await textOf('kubernetes/operator.example.json'));
  const [deployment] = manifests as [Deployment];
  const { containers, volumes, terminationGracePeriodSeconds } = deployment.spec.template.spec;
  const [container] = containers as [(typeof containers)[0]];

  test(
    'every manifest matches the schema of its kind, which refuses a wrong value',
    async () => {
      const models = await consumers();
      const kinds = ['Deployment', 'Service', 'PodDisruptionBudget', 'NetworkPolicy'] as const;
      expect(manifests.map(({ kind }) => kind)).toEqual(kinds);
      for (const [at, manifest] of manifests.entries()) {
        const Model = models[kinds[at]!]!;
        new Model(manifest).validate();
        const name = kinds[at] === 'NetworkPolicy' ? 'podSelector' : 'selector';
        expect(() => new Model({ ...manifest, spec: { ...manifest.spec, [name]: 1 } }).validate()).toThrow(name);
      }
    },
    INSTALL_MS,
  );

  test('all select the pods of the Deployment', () => {
    const { labels } = deployment.spec.template.metadata;
    expect(labels).toEqual({ app: 'tessera-operator' });
    const selectors = manifests.map(({ spec: { selector, podSelector = selector } }) => podSelector);
    expect(selectors.map((selector) => selector.matchLabels ?? selector)).toEqual(Array(4).fill(labels));
  });

  test('the pods receive only on their own ports, and connect only to the database and to DNS', () => {
    const { policyTypes, ingress, egress } = manifests[3].spec;
    const portsOf = (rules: { ports: { port: unknown }[] }[]) =>
      rules.flatMap(({ ports }) => ports.map(({ port }) => port));
    expect(policyTypes).toEqual(['Ingress', 'Egress']);
    expect(portsOf(ingress)).toEqual(container.ports.map(({ name }) => name));
    expect(new Set(portsOf(egress))).toEqual(new Set([53, 5432]));
  });

  test('its ports, paths and times are those of the operator that it starts', async () => {
    expect(await faultOf(container.args)).toBeUndefined();
    expect(container.ports.map(({ containerPort }) => containerPort)).toEqual([example.port, example.metricsPort]);
    expect(deployment.spec.template.metadata.annotations['prometheus.io/port']).toBe(`${example.metricsPort}`);
    expect(container.readinessProbe.httpGet.path).toBe('/ops/healthcheck');
    const mounted = container.volumeMounts[0]!.mountPath;
    const named = [container.args[container.args.indexOf('--config') + 1]!, example.rootSecretFile as string];
    const page = await readFile(`${root}docs/operating/deployment.md`, 'utf8');
    for (const path of named) {
      expect(dirname(path)).toBe(mounted);
      expect(page).toContain(`--from-file=${basename(path)}`);
    }
    expect(page).toContain(`secret generic ${volumes[0]!.secret.secretName} `);
    const drain = Number(container.args[container.args.indexOf('--drain-seconds') + 1]);
    // The command ends itself 25 s after the drain.
    expect(terminationGracePeriodSeconds).toBeGreaterThan(drain + 25);
  });
});

test('the systemd unit runs a command of the real program, and waits until it has stopped', async () => {
  const unit = await textOf('systemd/tessera@.service');
  const [, command = ''] = /^ExecStart=\/usr\/bin\/env tessera (.*)$/m.exec(unit) ?? [];
  const args = command.replaceAll('%i', '8081').split(' ');
  expect(args).toContain('18081');
  expect(await faultOf(args)).toBeUndefined();
  const drain = Number(args[args.indexOf('--drain-seconds') + 1]);
  // The command ends itself 25 s after the drain.
  expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1])).toBeGreaterThan(drain + 25);
});

describe('operator.example.json', async () => {
  const example = JSON.parse(await textOf('operator.example.json'));

  test('its paths are those of the compose file', () => {
    expect(Object.keys(compose.secrets)).toContain(example.rootSecretFile.replace('/run/secrets/', ''));
    expect(new URL(example.database).hostname).toBe('database');
    expect(compose.services['database']!.environment).toMatchObject({
      POSTGRES_USER: new URL(example.database).username,
      POSTGRES_DB: new URL(example.database).pathname.slice(1),
    });
  });
});

test.each(['operator.example.json', 'kubernetes/operator.example.json'])(
  '%s starts a real operator on PostgreSQL, without mentioning credentials; a participant is added beside it',
  async (name) => {
    const example = JSON.parse(await textOf(name));
    const folder = await emptyFolder();
    const rootSecretFile = join(folder, 'root-secret');
    await writeFile(rootSecretFile, crypto.getRandomValues(new Uint8Array(32)), { mode: 0o600 });
    const config = join(folder, 'operator.json');
    const database = await freshLocation('postgres');
    // What a test must change: no port of the machine, no path of a container.
    const changed = { ...example, host: '127.0.0.1', port: 0, metricsPort: 0, database, rootSecretFile };
    await writeFile(config, JSON.stringify(changed), { mode: 0o600 });
    let stop = () => {};
    const stopped = new Promise<void>((resolve) => (stop = resolve));
    const running = tessera(['operator', '--config', config], { stopped });
    try {
      await expect
        .poll(async () => (await tessera(['participants', 'list', '--config', config])).code, { timeout: 30_000 })
        .toBe(0);
      const added = await tessera([
        'participants',
        'add',
        '--site-id',
        '101',
        '--roles',
        'GENERATOR',
        '--config',
        config,
      ]);
      expect([added.code, added.out.join('\n')]).toEqual([0, expect.stringContaining('export TESSERA_CLIENT_SECRET=')]);
    } finally {
      stop();
    }
    const { code, out } = await running;
    expect(code).toBe(0);
    expect(out.join('\n')).toMatch(/^metrics on \S+\nlistening on \S+$/);
  },
);

describe('metrics', () => {
  let operator: Operator;
  /** Name of a series -> its label names -> the values that were seen. */
  const seen = new Map<string, Map<string, Set<string>>>();

  beforeAll(async () => {
    // With a database, as deploy/ runs it: there are metrics of the opt-outs in memory then.
    operator = createOperator({ roles: ['GENERATOR', 'MAPPER'], database: await freshLocation('postgres') });
    await operator.ready;
    const { apiKey, clientSecret } = operator.participants[0]!;
    const fetch = (url: string, init: RequestInit) => operator.fetch(new Request(url, init));
    const client = createClient({ baseUrl: 'https://operator.example', apiKey, clientSecret, fetch });
    const stranger = createClient({ baseUrl: 'https://operator.example', apiKey: 'unknown', clientSecret, fetch });
    const dii = { email: 'user@example.com' };
    const result = await client.generate(dii);
    if (result.status !== 'success') throw new Error('expected a set');
    await client.validate(result.tokens.advertisingToken, dii);
    for await (const _ of client.mapIdentities([dii, { emailHash: 'A'.repeat(43) }]));
    await stranger.generate(dii).catch(() => {});
    for (const body of [result.tokens.refreshToken, 'A'.repeat(388)])
      await fetch('https://operator.example/v2/token/refresh', { method: 'POST', body });
    const text = await (await operator.metrics.fetch(new Request('http://127.0.0.1/metrics'))).text();
    for (const [, name = '', labels = ''] of text.matchAll(/^(tessera_\w+)(?:\{(.*)\})? /gm)) {
      const known = seen.get(name) ?? new Map<string, Set<string>>();
      for (const [, label = '', value = ''] of labels.matchAll(/(\w+)="([^"]*)"/g))
        known.set(label, (known.get(label) ?? new Set()).add(value));
      seen.set(name, known);
    }
  });
  afterAll(() => operator.close());

  const dashboard = async (): Promise<string[]> => {
    const { panels } = JSON.parse(await textOf('grafana/dashboard.json'));
    const all = panels.flatMap(({ targets }: { targets: { expr: string }[] }) => targets.map(({ expr }) => expr));
    // Those of page views come from a publisher's server: test/examples.test.ts.
    return all.filter((expr: string) => !/\bpage_/.test(expr));
  };
  const alerts = async (): Promise<string[]> => {
    const { groups } = parse(await textOf('prometheus/alerts.yml'));
    return groups.flatMap(({ rules }: { rules: { expr: string }[] }) => rules.map(({ expr }) => expr));
  };

  test.each([
    ['the dashboard', dashboard],
    ['the alerts', alerts],
  ])('%s: every series and label exists at a real operator', async (_, expressions) => {
    const all = await expressions();
    expect(all.length).toBeGreaterThan(5);
    for (const expression of all) {
      const names = [...expression.matchAll(/\b(tessera_\w+)(?:\{([^}]*)\})?/g)];
      const labelsOfAll = new Set(names.flatMap(([, name = '']) => [...(seen.get(name)?.keys() ?? [])]));
      if (!names.length) expect(expression).toContain('up{job="tessera"}');
      for (const [, name = '', matchers = ''] of names) {
        expect([...seen.keys()], expression).toContain(name);
        for (const [, label = '', operator_ = '', value = ''] of matchers.matchAll(/(\w+)(=~?)"([^"]*)"/g)) {
          expect([...seen.get(name)!.keys()], expression).toContain(label);
          // Failures of the service do not happen here.
          if (operator_ === '=' && label !== 'http')
            expect([...seen.get(name)!.get(label)!], expression).toContain(value);
        }
      }
      for (const [, group = ''] of expression.matchAll(/by \(([^)]*)\)/g))
        for (const label of group.split(/, */)) expect([...labelsOfAll], expression).toContain(label);
    }
  });

  // Prometheus drops a target that is no longer in DNS, and with it the series `up`.
  test('an alert notices that a node of compose.yaml is missing', async () => {
    const { replicas } = compose.services['operator']!.deploy!;
    expect(await alerts()).toContain(`count(up{job="tessera"} == 1) < ${replicas}`);
    expect(await readFile(`${root}docs/operating/monitoring.md`, 'utf8')).toContain(
      `fewer than ${replicas} nodes answer`,
    );
  });

  test('docs/operating/monitoring.md lists every metric and every alert', async () => {
    const page = await readFile(`${root}docs/operating/monitoring.md`, 'utf8');
    for (const name of seen.keys()) expect(page).toContain(`\`${name.replace(/_(bucket|sum|count)$/, '')}\``);
    for (const [, name] of (await textOf('prometheus/alerts.yml')).matchAll(/alert: (\w+)/g))
      expect(page).toContain(`| \`${name}\` |`);
  });

  test('Prometheus scrapes the port that the operator uses', async () => {
    const { scrape_configs: jobs } = parse(await textOf('prometheus/prometheus.yml'));
    const { metricsPort } = JSON.parse(await textOf('operator.example.json'));
    expect(jobs).toMatchObject([{ job_name: 'tessera', dns_sd_configs: [{ names: ['operator'], port: metricsPort }] }]);
  });
});

test.each(['grafana/provisioning/datasources/prometheus.yml', 'grafana/provisioning/dashboards/tessera.yml'])(
  'deploy/%s is YAML',
  async (file) => {
    expect(parse(await textOf(file))).toMatchObject({ apiVersion: 1 });
  },
);
