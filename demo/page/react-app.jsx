// A React app: one hook for the session, one for the token.

import { createRoot } from 'react-dom/client';
import { useAdvertisingToken, useSession } from 'tessera-id/react';

const baseUrl = document.querySelector('meta[name=operator]').content;
const newReader = () => `reader-${Math.random().toString(36).slice(2, 7)}@example.com`;
const post = (path, body) =>
  fetch(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });

// region app
const provide = async ({ signal }) => {
  const response = await fetch('/token', { method: 'POST', signal });
  if (!response.ok) throw response; // the error reports the HTTP status
  return response.status === 204 ? null : response.json();
};

function App() {
  const { session, state } = useSession({ baseUrl, name: 'demo-react', provide });
  const token = useAdvertisingToken(session);
  const signIn = async () => {
    const response = await post('/sign-in', { email: newReader() });
    await session.setTokens(await response.json());
  };
  const signOut = async () => {
    await post('/sign-out');
    await session.clear();
  };
  return (
    <>
      <div className="token">
        <strong id="phase">{state?.phase ?? 'loading'}</strong>
        <code id="token">{token ? `ends in ${token.slice(-8)}` : 'no token'}</code>
      </div>
      {token ? (
        <button type="button" onClick={signOut}>
          Sign out
        </button>
      ) : (
        <button type="button" className="primary" onClick={signIn}>
          Sign in
        </button>
      )}
    </>
  );
}

createRoot(document.getElementById('app')).render(<App />);
// endregion
