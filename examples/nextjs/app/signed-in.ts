import { createHmac } from 'node:crypto';
import { cookies } from 'next/headers';

/** The address of the signed-in user. Read it from your own login session, never from the body or the URL. */
export const signedInEmail = async (): Promise<string | undefined> => (await cookies()).get('user')?.value;

/**
 * The label of a user: use the account ID of your database. This example uses an HMAC of the address instead, with a secret of the
 * server, because a plain hash of an address is DII. null: nobody is signed in.
 */
export const labelOf = (email: string | undefined): string | null =>
  email
    ? createHmac('sha256', process.env['TESSERA_CLIENT_SECRET'] as string)
        .update(email)
        .digest('base64url')
    : null;
