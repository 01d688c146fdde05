// Figures and charts, drawn only from `GET /metrics`.

import { $, showBars, showFigures } from '/common.js';

// region read
/** Parse the samples of the Prometheus text format: name, labels, value. */
const parse = (text) =>
  text
    .split('\n')
    .filter((line) => line && !line.startsWith('#'))
    .map((line) => {
      const [, name, labels = '', value] = line.match(/^(\w+)(?:\{(.*)\})? (\S+)$/) ?? [];
      return {
        name,
        labels: Object.fromEntries([...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, key, text]) => [key, text])),
        value: Number(value),
      };
    });
// endregion

const number = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });
const sum = (samples) => samples.reduce((total, { value }) => total + value, 0);

function show(text) {
  // This page reads the metrics every two seconds, which is no use of the operator.
  const samples = parse(text).filter(({ labels }) => labels.path !== '/metrics');
  const of = (name, labels = {}) =>
    samples.filter(
      (one) => one.name === name && Object.entries(labels).every(([key, value]) => one.labels[key] === value),
    );
  const requests = of('tessera_http_requests_total');
  const failed = requests.filter(({ labels }) => Number(labels.http) >= 400);
  const figures = {
    Requests: sum(requests),
    'Refused or failed': sum(failed),
    'Tokens generated': sum(of('tessera_http_requests_total', { path: '/v2/token/generate', status: 'success' })),
    'Tokens refreshed': sum(of('tessera_http_requests_total', { path: '/v2/token/refresh', status: 'success' })),
    'Identifiers mapped': sum(of('tessera_identifiers_mapped_total', { result: 'mapped' })),
  };
  showFigures(
    $('figures'),
    Object.entries(figures).map(([name, value]) => [name, number.format(value)]),
  );
  const answers = requests
    .map(({ labels, value }) => [
      `${labels.path.replace(/^\/v/, 'v')}: ${labels.http} ${labels.status}`,
      value,
      number.format(value),
    ])
    .sort((one, other) => other[1] - one[1]);
  showBars($('answers'), answers);
  $('no-answers').hidden = answers.length > 0;
  const all = sum(of('tessera_http_request_duration_seconds_count'));
  const bounds = [0.001, 0.005, 0.025, 0.1, 0.5, 1];
  showBars(
    $('latency'),
    bounds.map((bound) => {
      const share = all ? (100 * sum(of('tessera_http_request_duration_seconds_bucket', { le: `${bound}` }))) / all : 0;
      return [`${bound * 1000} ms`, share, `${number.format(share)} %`];
    }),
  );
  $('text').textContent = text;
}

const load = async () => {
  let problem = '';
  try {
    const response = await fetch('/demo/metrics');
    if (response.ok) show(await response.text());
    else problem = `The metrics endpoint answered ${response.status}.`;
  } catch {
    problem = 'The demo cannot be reached.';
  }
  $('problem').textContent = problem;
};
setInterval(() => document.hidden || load(), 2000);
load();
