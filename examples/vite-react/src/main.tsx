import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { TesseraProvider } from 'tessera-id/react';
import { App } from './app.tsx';
import { options } from './tessera.ts';

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <TesseraProvider options={options}>
      <App />
    </TesseraProvider>
  </StrictMode>,
);
