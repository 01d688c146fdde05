'use client';

import { useAdvertisingToken, useSession } from 'tessera-id/react';

export function Ads() {
  const token = useAdvertisingToken();
  const { state } = useSession();
  return <p>{token ? 'There is a valid token' : `No token: ${state?.next?.reason ?? 'the page is loading'}`}</p>;
}
