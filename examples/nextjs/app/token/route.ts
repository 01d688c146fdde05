import { createClient, tokenHandler } from 'tessera-id/server';

/** Who is signed in. Read it from your own login session, never from the body or the URL. */
const signedIn = (request: Request): { email: string } | null => {
  const [, user] = /(?:^|;\s*)user=([^;]+)/.exec(request.headers.get('cookie') ?? '') ?? [];
  return user ? { email: decodeURIComponent(user) } : null;
};

const required = (name: string): string => {
  const value = process.env[name];
  if (!value) throw new Error(`${name}: expected an environment variable, got none`);
  return value;
};

export const POST = tokenHandler({
  // Called on the first request: `next build` loads this file without the secrets.
  client: () =>
    createClient({
      baseUrl: required('TESSERA_BASE_URL'),
      apiKey: required('TESSERA_API_KEY'),
      clientSecret: required('TESSERA_CLIENT_SECRET'),
    }),
  user: (request) => signedIn(request),
  onError: (error) => console.error('token', error),
});
