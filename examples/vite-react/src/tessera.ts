import type { SessionOptions } from 'tessera-id';

/** One session for the whole app. */
export const options: SessionOptions = {
  baseUrl: import.meta.env.VITE_TESSERA_BASE_URL ?? 'http://127.0.0.1:8080',
  // Your own server answers with the set of the signed-in user, or with 204.
  provide: async ({ signal }) => {
    const response = await fetch('/token', { method: 'POST', signal });
    if (!response.ok) throw response; // the error reports the HTTP status
    return response.status === 204 ? null : response.json();
  },
};
