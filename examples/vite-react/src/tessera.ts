import type { SessionOptions } from 'tessera-id';

/** One session for the whole app. */
export const options: SessionOptions = {
  baseUrl: import.meta.env.VITE_TESSERA_BASE_URL ?? 'http://127.0.0.1:8080',
  provide: async ({ signal }) => {
    const response = await fetch('/token', { method: 'POST', signal });
    return response.status === 200 ? response.json() : response; // 204: nobody is signed in
  },
};
