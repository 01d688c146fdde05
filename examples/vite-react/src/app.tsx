import { useAdvertisingToken, useSession } from 'tessera-id/react';

/** Who has signed in, by the answer of your server: an opaque account ID, not an email address. */
const account = { id: 'account-1' };

export function App() {
  const { session, state } = useSession();
  const token = useAdvertisingToken();
  return (
    <main>
      <h1>{token ? 'There is a valid token' : 'No token'}</h1>
      <p>
        {state?.phase}, next: {state?.next?.action} ({state?.next?.reason})
      </p>
      {/* Call it after a sign-in at your server: the session ends the previous user's set, and calls `provide` for the new one. */}
      <button type="button" onClick={() => session?.signIn({ user: account.id }).catch(() => {})}>
        Signed in
      </button>
      <button type="button" onClick={() => session?.clear()}>
        Log out
      </button>
    </main>
  );
}
