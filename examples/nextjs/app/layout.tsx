import type { ReactNode } from 'react';
import { labelOf, signedInEmail } from './signed-in';
import { Tessera } from './tessera';

export default async function Layout({ children }: { children: ReactNode }) {
  return (
    <html lang="en">
      <body>
        <Tessera user={labelOf(await signedInEmail())}>{children}</Tessera>
      </body>
    </html>
  );
}
