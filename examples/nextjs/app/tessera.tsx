'use client';

import type { ReactNode } from 'react';
import type { SessionOptions } from 'tessera-id';
import { TesseraProvider } from 'tessera-id/react';

// Functions cannot be passed from a server component to a client component, so the options are in a client module.
const options: SessionOptions = {
  baseUrl: process.env.NEXT_PUBLIC_TESSERA_BASE_URL ?? 'http://127.0.0.1:8080',
  provide: async ({ signal }) => {
    const response = await fetch('/token', { method: 'POST', signal });
    return response.status === 200 ? response.json() : response; // 204: nobody is signed in
  },
};

/** @param user  the label of the user for whom the page was rendered; null if nobody is signed in. */
export function Tessera({ user, children }: { user: string | null; children: ReactNode }) {
  return <TesseraProvider options={{ ...options, user }}>{children}</TesseraProvider>;
}
