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
      {/* Call it after a sign-in at your server: the session asks `provide` for the user who is signed in now. */}
      <button type="button" onClick={() => session?.signIn().catch(() => {})}>
        Signed in
      </button>
      <button type="button" onClick={() => session?.clear()}>
        Log out
      </button>
    </main>
  );
}
