import { createHash } from 'node:crypto';
import { cookies } from 'next/headers';

/** The address of the signed-in user. Read it from your own login session, never from the body or the URL. */
export const signedInEmail = async (): Promise<string | undefined> => (await cookies()).get('user')?.value;

/** The label of a user: use the account ID of your database; this example uses a hash of the address instead. null: nobody is signed in. */
export const labelOf = (email: string | undefined): string | null =>
  email ? createHash('sha256').update(email).digest('base64url') : null;
