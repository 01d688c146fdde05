import { describe, expect, test, vi } from 'vitest';
import { memoryState } from '../../src/operator/state/memory-state.ts';
import { TokenError } from '../../src/token/index.ts';
import { BASE, createTestService } from './fixtures.ts';

describe('logs and metrics', () => {
  const secrets = (service: ReturnType<typeof createTestService>) => {
    const { apiKey, clientSecret } = service.participant;
    return ['user@example.com', '+12345678902', 'tMmiiTI7', apiKey, clientSecret, 'secret-in-the-path', 'BwcHBwcH'];
  };

  test('a request is logged as one line with route, HTTP status and status of the JSON', async () => {
    const lines: [fields: object, message: string][] = [];
    const note = (fields: object, message: string) => void lines.push([fields, message]);
    const service = createTestService({ logger: { info: note, warn: note, error: note } });
    await service.call('/v2/token/generate', { email: 'optout@example.com' });
    await service.post('/v2/token/refresh', '%');
    await service.operator.fetch(new Request(`${BASE}/secret-in-the-path?email=user@example.com`, { method: 'FETCH' }));
    expect(lines).toEqual([
      [
        { method: 'POST', path: '/v2/token/generate', http: 200, status: 'optout', seconds: expect.any(Number) },
        'answered',
      ],
      [
        { method: 'POST', path: '/v2/token/refresh', http: 400, status: 'client_error', seconds: expect.any(Number) },
        'answered',
      ],
      [{ method: 'other', path: 'other', http: 404, status: '', seconds: expect.any(Number) }, 'answered'],
    ]);
  });

  test('a log line has the time from the request to its answer in seconds, to the microsecond, and the status of a sealed answer', async () => {
    const state = memoryState();
    const since: typeof state.optOuts.since = async (users) => {
      // 400 ns are less than half a microsecond.
      vi.advanceTimersByTime(1500.0024);
      return state.optOuts.since(users);
    };
    const lines: object[] = [];
    const note = (fields: object) => void lines.push(fields);
    const service = createTestService({
      state: { ...state, optOuts: { ...state.optOuts, since } },
      logger: { info: note, warn: note, error: note },
    });
    await service.operator.ready;
    vi.useFakeTimers({ toFake: ['performance'] });
    await service.refresh(await service.generate({ email: 'user@example.com' }));
    vi.useRealTimers();
    expect(lines).toMatchObject([
      { path: '/v2/token/generate', status: 'success', seconds: 1.500002 },
      { path: '/v2/token/refresh', status: 'success', seconds: 0 },
    ]);
  });

  test('logs and metrics contain no DII, token, key or secret, and nothing is written to the console', async () => {
    const written: string[] = [];
    const note = (...all: unknown[]) => void written.push(JSON.stringify(all));
    const spies = (['log', 'info', 'warn', 'error', 'debug'] as const).map((name) =>
      vi.spyOn(console, name).mockImplementation(note),
    );
    const service = createTestService({ logger: { info: note, warn: note, error: note } });
    const set = await service.generate({ email: 'user@example.com' });
    await service.refresh(set);
    await service.post('/v2/token/refresh', `${set.refresh_token}x`);
    await service.call('/v2/token/validate', { token: set.advertising_token, email: 'user@example.com' });
    await service.call('/v2/token/validate', { token: 'user@example.com', phone: '+12345678902' });
    const mapped = await service.call('/v3/identity/map', { email: ['user@example.com'], phone: ['+12345678902'] });
    await service.call('/v3/identity/map', { 'user@example.com': [] });
    await service.call('/v2/identity/map', { email: ['user@example.com', null] });
    await service.call('/v2/token/logout', { email: 'user@example.com' });
    await service.call('/v2/optout/status', { advertising_ids: [mapped.json.body.email[0].u] });
    await service.call('/v2/identity/buckets', { since_timestamp: 'user@example.com' });
    await service.call('/v2/key/bidstream', undefined);
    await service.call('/v2/token/generate', 'user@example.com {');
    await service.post('/v2/token/generate', 'user@example.com', {
      authorization: `Bearer ${service.participant.apiKey}`,
    });
    await service.operator.fetch(
      new Request(`${BASE}/secret-in-the-path`, { headers: { 'user-agent': 'user@example.com' } }),
    );
    const metrics = await (await service.operator.fetch(new Request(`${BASE}/metrics`))).text();

    expect(written.length).toBe(16);
    const all = written.join('\n') + metrics;
    const { u } = mapped.json.body.email[0];
    for (const secret of [...secrets(service), u, ...Object.values(set).filter((value) => typeof value === 'string')])
      expect(all).not.toContain(secret);
    for (const spy of spies) spy.mockRestore();
  });

  test('an outage of the database is logged once for each route, and so is its end', async () => {
    const state = memoryState();
    let isDown = false;
    const since: typeof state.optOuts.since = async (users) => {
      if (isDown) throw new TokenError('storage_failed', 'database: a statement failed: connect ECONNREFUSED');
      return state.optOuts.since(users);
    };
    const messages: string[] = [];
    const note = (_: object, message: string): void => {
      if (message !== 'answered') messages.push(message);
    };
    const service = createTestService({
      state: { ...state, optOuts: { ...state.optOuts, since } },
      logger: { info: note, warn: note, error: note },
    });
    const [generate, map] = ['/v2/token/generate', '/v3/identity/map'];
    const ask = async (): Promise<number[]> => {
      const answers = [
        await service.call(generate, { email: 'user@example.com' }),
        await service.call(map, { email: ['user@example.com'] }),
      ];
      return answers.map(({ http }) => http);
    };
    isDown = true;
    expect([await ask(), await ask(), await ask()]).toEqual(Array(3).fill([503, 503]));
    const failures = [generate, map].map((path) => `${path}: the database cannot serve requests; they fail with 503`);
    expect(messages.splice(0)).toEqual(failures);
    isDown = false;
    expect([await ask(), await ask()]).toEqual(Array(2).fill([200, 200]));
    expect(messages).toEqual([generate, map].map((path) => `${path}: the database serves requests again`));
  });

  test('requests, identifiers and validations are counted', async () => {
    const service = createTestService();
    const set = await service.generate({ email: 'user@example.com' });
    await service.call('/v2/token/validate', { token: set.advertising_token, email: 'user@example.com' });
    await service.call('/v2/token/validate', { token: 'x', email: 'user@example.com' });
    await service.call('/v3/identity/map', {
      email: ['user@example.com', 'nobody', 'optout@example.com', 'a@example.com'],
    });
    await service.post('/v2/token/refresh', '%');
    const response = await service.operator.fetch(new Request(`${BASE}/metrics`));
    expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
    const text = await response.text();
    for (const line of [
      'tessera_http_requests_total{method="POST",path="/v2/token/generate",http="200",status="success"} 1',
      'tessera_http_requests_total{method="POST",path="/v2/token/refresh",http="400",status="client_error"} 1',
      'tessera_identifiers_mapped_total{version="v3",result="mapped"} 2',
      'tessera_identifiers_mapped_total{version="v3",result="optout"} 1',
      'tessera_identifiers_mapped_total{version="v3",result="invalid"} 1',
      'tessera_tokens_validated_total{result="match"} 1',
      'tessera_tokens_validated_total{result="invalid_token"} 1',
      'tessera_http_request_duration_seconds_count{path="/v2/token/refresh"} 1',
    ])
      expect(text).toContain(line);
  });

  test('each operator has its own metrics', async () => {
    const [service, other] = [createTestService(), createTestService()];
    await service.post('/v2/token/refresh', '%');
    const text = await (await other.operator.fetch(new Request(`${BASE}/metrics`))).text();
    expect(text).not.toContain('/v2/token/refresh');
  });
});
