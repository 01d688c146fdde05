import { useAdvertisingToken, useSession } from 'tessera-id/react';

export function App() {
  const { session, state } = useSession();
  const token = useAdvertisingToken();
  return (
    <main>
      <h1>{token ? 'A token is in force' : 'No token'}</h1>
      <p>
        {state?.phase}, next: {state?.next?.action} ({state?.next?.reason})
      </p>
      {/* After a sign-in at your server, give the session the set that the server answers with. */}
      <button type="button" onClick={() => session?.refresh().catch(() => {})}>
        Ask again
      </button>
      <button type="button" onClick={() => session?.clear()}>
        Log out
      </button>
    </main>
  );
}
