import type { ReactNode } from 'react';
import { Tessera } from './tessera';

export default function Layout({ children }: { children: ReactNode }) {
  return (
    <html lang="en">
      <body>
        <Tessera>{children}</Tessera>
      </body>
    </html>
  );
}
