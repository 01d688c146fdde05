/**
 * The token services of the peers, in one Hono app: an OpenID Connect provider with discovery, code flow, password and refresh
 * grants, and the two endpoints of Supabase's auth server that a refresh needs. Its tokens have the form of JWTs, without a
 * valid signature: a browser client does not verify it. It never refuses a refresh token, also not a used one; it counts.
 */

import { randomBytes } from 'node:crypto';
import { Hono } from 'hono';
import { cors } from 'hono/cors';
import type { Ledger } from './ledger.ts';

/** Seconds that a token lives which a refresh has brought: none of them is due while a bench runs. */
const REFRESHED_S = 3600;
const CLIENT_ID = 'bench';
/** Bytes of an access token with the claims of a small service. */
const ACCESS_TOKEN_BYTES = 500;
const SUBJECT = '00000000-0000-4000-8000-000000000001';

const random = (bytes: number): string => randomBytes(bytes).toString('base64url');
const json = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const jwt = (claims: unknown): string =>
  `${json({ alg: 'RS256', typ: 'JWT', kid: 'bench' })}.${json(claims)}.${random(256)}`;

/** A sign-in: which run it belongs to, how long its first access token lives, and how long before its end it is due. */
interface Grant {
  readonly run: string;
  readonly lifetimeS: number;
  readonly dueS: number;
  readonly nonce?: string;
}

/**
 * Create the app. The issuer is `/RUN/LIFETIME/DUE`: the first token of this run lives `LIFETIME` seconds and is due after `DUE`
 * seconds; one that a refresh brings lives an hour.
 */
export function createAuthority(ledger: Ledger): Hono {
  const grants = new Map<string, Grant>();
  const issue = (issuer: string, grant: Grant, isFirst: boolean) => {
    const now = Math.floor(Date.now() / 1000);
    const lifetimeS = isFirst ? grant.lifetimeS : REFRESHED_S;
    const refreshToken = random(32);
    grants.set(refreshToken, grant);
    ledger.issued(refreshToken, grant.run, Date.now() + 1000 * (isFirst ? grant.dueS : REFRESHED_S));
    const claims = { iss: `${issuer}/`, sub: SUBJECT, aud: CLIENT_ID, iat: now, exp: now + lifetimeS };
    return {
      access_token: jwt({ ...claims, jti: random(ACCESS_TOKEN_BYTES / 2) }),
      token_type: 'bearer',
      expires_in: lifetimeS,
      expires_at: now + lifetimeS,
      refresh_token: refreshToken,
      scope: 'openid profile offline_access',
      id_token: jwt({ ...claims, ...(grant.nonce && { nonce: grant.nonce }) }),
      user: { id: SUBJECT, aud: 'authenticated', role: 'authenticated', app_metadata: {}, user_metadata: {} },
    };
  };

  const app = new Hono();
  app.use(cors({ origin: '*', maxAge: 7200 }));
  const at = '/:run/:lifetime/:due';
  const issuerOf = (url: string): string => url.split('/').slice(0, 6).join('/');

  app.get(`${at}/.well-known/openid-configuration`, (c) => {
    const issuer = issuerOf(c.req.url);
    return c.json({
      issuer: `${issuer}/`,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/oauth/token`,
      jwks_uri: `${issuer}/jwks`,
    });
  });
  // Code flow: the user consents at once, and the code carries the nonce.
  app.get(`${at}/authorize`, (c) => {
    const { redirect_uri, state, nonce } = c.req.query();
    const target = new URL(redirect_uri!);
    target.searchParams.set('state', state!);
    target.searchParams.set('code', nonce!);
    return c.redirect(target.href);
  });
  const token = async (issuer: string, run: string, lifetime: string, due: string, body: Record<string, string>) => {
    if (body['grant_type'] === 'refresh_token') {
      const refreshToken = body['refresh_token'] ?? '';
      ledger.refreshed(refreshToken);
      const grant = grants.get(refreshToken);
      if (!grant) throw new Error('authority: expected a refresh token that it has issued');
      return issue(issuer, grant, false);
    }
    const nonce = body['code'];
    return issue(issuer, { run, lifetimeS: Number(lifetime), dueS: Number(due), ...(nonce && { nonce }) }, true);
  };
  app.post(`${at}/oauth/token`, async (c) => {
    const { run, lifetime, due } = c.req.param();
    const body = Object.fromEntries(new URLSearchParams(await c.req.text()));
    return c.json(await token(issuerOf(c.req.url), run, lifetime, due, body));
  });
  // The floor of a refresh: the same server and no work.
  app.post(`${at}/echo`, async (c) => {
    const body = await c.req.text();
    ledger.refreshed(body);
    return c.body(body);
  });
  // Supabase names the grant in the query and sends JSON.
  app.post(`${at}/token`, async (c) => {
    const { run, lifetime, due } = c.req.param();
    const body = { ...((await c.req.json()) as Record<string, string>), ...c.req.query() };
    return c.json(await token(issuerOf(c.req.url), run, lifetime, due, body));
  });
  return app;
}
