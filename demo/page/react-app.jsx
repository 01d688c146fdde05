// A React app: one hook for the session, one for the token.

import { useState } from 'react';
import { createRoot } from 'react-dom/client';
import { useAdvertisingToken, useSession } from 'tessera-id/react';
import { operator as baseUrl, newReader, post } from './common.js';

// region app
const provide = async ({ signal }) => {
  const response = await fetch('/token', { method: 'POST', signal });
  if (!response.ok) throw response; // the error reports the HTTP status
  return response.status === 204 ? null : response.json();
};

function App() {
  const { session, state } = useSession({ baseUrl, name: 'demo-react', provide });
  const token = useAdvertisingToken(session);
  const [problem, setProblem] = useState('');
  const handle = (work) => () => {
    setProblem('');
    work().catch(({ message }) => setProblem(message));
  };
  const signIn = handle(async () => {
    const answer = await post('/sign-in', { email: newReader() });
    await session.setTokens(answer);
  });
  const signOut = handle(async () => {
    await post('/sign-out');
    await session.clear();
  });
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
      <p id="problem" className="problem" role="alert">
        {problem}
      </p>
    </>
  );
}

createRoot(document.getElementById('app')).render(<App />);
// endregion
