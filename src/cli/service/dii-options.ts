/** The DII on a command line: an argument whose form is detected, or an option that specifies the form. */

import type { Command } from 'commander';
import type { Dii } from '../../server/index.ts';
import { parseDii } from '../input/dii-rows.ts';
import { MAX_CHARACTERS, openInput } from '../input/input.ts';
import type { Io } from '../io.ts';

export function addDiiOptions(command: Command): Command {
  return command
    .argument('[dii]', 'an email address, a phone number with a leading +, or - for the first line of standard input')
    .option('--email <address>', 'an email address')
    .option('--phone <number>', 'a phone number: + and 10 to 15 digits')
    .option('--email-hash <hash>', 'SHA-256 of a normalised email address, in base64 or hexadecimal')
    .option('--phone-hash <hash>', 'SHA-256 of a normalised phone number, in base64 or hexadecimal');
}

const FORMS = { email: 'email', phone: 'phone', emailHash: 'email_hash', phoneHash: 'phone_hash' } as const;
export type DiiOptions = { readonly [option in keyof typeof FORMS]?: string };
const KEYS = Object.keys(FORMS) as (keyof DiiOptions)[];

function formOf(argument: string): keyof DiiOptions {
  if (argument.includes('@')) return 'email';
  if (argument.startsWith('+')) return 'phone';
  throw new RangeError(
    'DII: expected an email address, a phone number with a leading +, or an option for another form; got another string',
  );
}

/** Throws a {@link RangeError}, which does not quote DII, unless there is exactly one, valid and of a known form. */
export function diiOf(argument: string | undefined, options: DiiOptions): Dii {
  const given = KEYS.flatMap((key) => (options[key] === undefined ? [] : [{ key, value: options[key] }]));
  if (argument !== undefined) given.push({ key: formOf(argument), value: argument });
  const [one] = given;
  if (!one || given.length > 1)
    throw new RangeError(
      `DII: expected exactly one, as an argument or by --email, --phone, --email-hash, --phone-hash, got ${given.length}`,
    );
  const parsed = parseDii(one.value, FORMS[one.key]);
  if (typeof parsed === 'string') throw new RangeError(`DII: ${parsed}`);
  // Not the parsed DII, which is hashed: the client chooses the form in which it is sent.
  return { [one.key]: one.value } as unknown as Dii;
}

/** `-` is the first line of standard input, because every user of the machine can read a command line while it runs. */
export async function readDii(argument: string | undefined, options: DiiOptions, io: Io): Promise<Dii> {
  if (argument !== '-') return diiOf(argument, options);
  let text = '';
  for await (const piece of (await openInput('-', io)).pieces) {
    text += piece;
    if (text.includes('\n')) break;
    if (text.length > MAX_CHARACTERS)
      throw new RangeError(`DII: expected a line of at most ${MAX_CHARACTERS} characters, got a longer one`);
  }
  const [line = ''] = text.split('\n', 1);
  if (line.trim() === '') throw new RangeError('DII: expected a line on standard input, got none');
  return diiOf(line.trim(), options);
}
