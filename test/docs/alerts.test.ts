/** The alerts of deploy/prometheus in promtool, Prometheus's own program: when each fires, and what it says. */

import { execFile } from 'node:child_process';
import { access, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { root } from '../../build/dist.ts';
import { createOperator } from '../../src/operator/index.ts';
import { emptyFolder } from '../database/locations.ts';

const PROMTOOL = process.env['PROMTOOL'] ?? '/usr/bin/promtool';
const hasPromtool = await access(PROMTOOL).then(
  () => true,
  () => false,
);
// In CI it must be there: `.ci/run` installs it.
if (!hasPromtool && process.env['TESSERA_ENGINES'] === 'all')
  throw new Error(`expected promtool at ${PROMTOOL}, which .ci/run installs, found none`);

const promtool = (...args: string[]) => promisify(execFile)(PROMTOOL, args);
const RULES = `${root}deploy/prometheus/alerts.yml`;

/** Series by name, each with its values minute by minute: `0+60x30` starts at 0 and grows by 60 in each of 30 minutes. */
type Series = Readonly<Record<string, string>>;

const up = (instance: string) => `up{job="tessera", instance="${instance}"}`;
const requests = (labels: string) => `tessera_http_requests_total{${labels}}`;
const refreshes = (status: string) => requests(`path="/v2/token/refresh", http="200", status="${status}"`);
const bucket = (le: string) => `tessera_http_request_duration_seconds_bucket{path="/v2/token/refresh", le="${le}"}`;
const identifiers = (result: string) => `tessera_identifiers_mapped_total{result="${result}"}`;

/** An alert, what makes it fire and its words, and what does not. */
interface Case {
  readonly alert: string;
  readonly firesFor: Series;
  readonly says: string;
  /** The labels of the series that fires. */
  readonly of?: Readonly<Record<string, string>>;
  readonly notFor: Series;
}

const CASES: readonly Case[] = [
  {
    alert: 'TesseraNodeDown',
    firesFor: { [up('a:8080')]: '1x5 0x115', [up('b:8080')]: '1x120' },
    says: 'Node a:8080 does not answer',
    of: { job: 'tessera', instance: 'a:8080' },
    notFor: { [up('a:8080')]: '1x120' },
  },
  {
    alert: 'TesseraNodeMissing',
    firesFor: { [up('a:8080')]: '1x120' },
    says: 'Only 1 of 2 nodes answer',
    notFor: { [up('a:8080')]: '1x120', [up('b:8080')]: '1x120' },
  },
  {
    alert: 'TesseraNoNode',
    firesFor: { [up('a:8080')]: '0x120' },
    says: 'No node of the operator answers',
    notFor: { [up('a:8080')]: '1x120' },
  },
  {
    alert: 'TesseraServerErrors',
    firesFor: { [requests('http="200"')]: '0+95x120', [requests('http="500"')]: '0+5x120' },
    says: '5% of the requests fail with 5xx',
    notFor: { [requests('http="200"')]: '0+995x120', [requests('http="500"')]: '0+5x120' },
  },
  {
    alert: 'TesseraDatabaseUnavailable',
    firesFor: { [requests('http="503"')]: '0+1x120' },
    says: 'Nodes answer 503: the database cannot be reached or is too slow',
    notFor: { [requests('http="200"')]: '0+1x120', [requests('http="503"')]: '7x120' },
  },
  {
    alert: 'TesseraRefreshSlow',
    firesFor: { [bucket('0.5')]: '0+90x120', [bucket('1')]: '0+100x120', [bucket('+Inf')]: '0+100x120' },
    says: 'The slowest percent of refreshes takes more than 950ms',
    notFor: { [bucket('0.5')]: '0+100x120', [bucket('1')]: '0+100x120', [bucket('+Inf')]: '0+100x120' },
  },
  {
    alert: 'TesseraOptOutsNotFollowed',
    firesFor: { 'tessera_opt_outs_current{instance="a:8080"}': '0x120' },
    says: 'Node a:8080 asks the database for opt-outs at every refresh',
    of: { instance: 'a:8080' },
    notFor: { 'tessera_opt_outs_current{instance="a:8080"}': '1x120' },
  },
  {
    alert: 'TesseraOptOutsLost',
    firesFor: {
      'tessera_opt_outs_lost{instance="a:8080"}': '12x120',
      'tessera_opt_outs_lost{instance="b:8080"}': '11x120',
    },
    says: '12 recorded opt-outs are missing from the database: record them again',
    notFor: { 'tessera_opt_outs_lost{instance="a:8080"}': '0x120' },
  },
  {
    alert: 'TesseraRefreshesRefused',
    firesFor: { [refreshes('success')]: '0+90x120', [refreshes('invalid_token')]: '0+10x120' },
    says: '10% of the refresh tokens cannot be decrypted: another root secret, a restored backup, or a retired key',
    notFor: { [refreshes('success')]: '0+99x120', [refreshes('invalid_token')]: '0+1x120' },
  },
  {
    alert: 'TesseraUnauthorized',
    firesFor: { [requests('http="401", status="unauthorized"')]: '0+120x120' },
    says: 'A caller has no valid API key, or not the role that it needs',
    notFor: { [requests('http="401", status="unauthorized"')]: '0+6x120' },
  },
  {
    alert: 'TesseraMappingsInvalid',
    firesFor: { [identifiers('mapped')]: '0+75x120', [identifiers('invalid')]: '0+25x120' },
    says: '25% of the identifiers in mapping requests are invalid',
    notFor: { [identifiers('mapped')]: '0+95x120', [identifiers('invalid')]: '0+5x120' },
  },
];

interface Rules {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly labels: object }[] }[];
}
const { groups } = parse(await readFile(RULES, 'utf8')) as Rules;
const rules = groups.flatMap((group) => group.rules);

describe.skipIf(!hasPromtool)('deploy/prometheus', () => {
  test('the configuration and the rules are valid', async () => {
    const { stdout } = await promtool('check', 'config', `${root}deploy/prometheus/prometheus.yml`);
    expect(stdout).toContain(`${rules.length} rules found`);
  });

  test('every alert has a case', () => {
    expect(CASES.map(({ alert }) => alert)).toEqual(rules.map(({ alert }) => alert));
  });

  test.each(CASES)(
    '$alert fires, says why, and does not fire otherwise',
    async ({ alert, firesFor, says, of, notFor }) => {
      const { labels } = rules.find((rule) => rule.alert === alert)!;
      const fired = [{ exp_labels: { ...labels, ...of }, exp_annotations: { summary: says } }];
      const caseOf = (series: Series, exp_alerts: object[]) => ({
        interval: '1m',
        input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
        alert_rule_test: [{ eval_time: '115m', alertname: alert, exp_alerts }],
      });
      const tests = [caseOf(firesFor, fired), caseOf(notFor, [])];
      const file = join(await emptyFolder(), 'alerts.yml');
      await writeFile(file, stringify({ rule_files: [RULES], evaluation_interval: '1m', tests }));
      // It exits with 1 if a case fails, with the difference.
      const { stdout } = await promtool('test', 'rules', file);
      expect(stdout).toContain('SUCCESS');
    },
  );

  test('promtool accepts the metrics of an operator', async () => {
    const operator = createOperator();
    await operator.fetch(new Request('http://node.test/ops/healthcheck'));
    const metrics = await operator.metrics.fetch(new Request('http://node.test/metrics'));
    const checking = promtool('check', 'metrics');
    checking.child.stdin!.end(await metrics.text());
    await checking;
    await operator.close();
  });
});
