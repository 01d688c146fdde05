/** `@supabase/auth-js` with its automatic refresh, its session in localStorage. */

import { GoTrueClient } from '@supabase/auth-js';
import { parameters, visit } from './visit.ts';

const client = new GoTrueClient({
  url: parameters().issuer,
  headers: { apikey: 'bench' },
  autoRefreshToken: true,
  persistSession: true,
  detectSessionInUrl: false,
});
const token = async () => (await client.getSession()).data.session?.access_token;

visit({
  signIn: async () => {
    const { error } = await client.signInWithPassword({ email: 'reader@example.com', password: 'reader' });
    if (error) throw error;
  },
  open: token,
  ask: token,
  refresh: async () => {
    const { error } = await client.refreshSession();
    if (error) throw error;
  },
});
