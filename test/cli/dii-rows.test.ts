/** Which DII is read from a file: its column, its type, and the reasons of invalid rows. */

import { expect, test } from 'vitest';
import { silentIo } from '../../build/silent-io.ts';
import { type DiiRowOptions, openDiiRows } from '../../src/cli/input/dii-rows.ts';
import { openInput } from '../../src/cli/input/input.ts';
import { hashTextOf } from '../../src/token/dii.ts';

const open = async (text: string, options: DiiRowOptions = {}) => {
  const stdin = async function* () {
    yield text;
  };
  return openDiiRows(await openInput('-', { ...silentIo, stdin }), options);
};

/** The DII of each row; the reason of an invalid one. */
const read = async (text: string, options?: DiiRowOptions) => {
  const { all } = await open(text, options);
  const found: unknown[] = [];
  for await (const rows of all) found.push(...rows.map((row) => ('reason' in row ? row.reason : row)));
  return found;
};

const ofEmail = (email: string) => ({ emailHash: hashTextOf('email', email)! });
const ofPhone = (phone: string) => ({ phoneHash: hashTextOf('phone', phone)! });
const { emailHash: HASH } = ofEmail('a@example.com');
const { phoneHash: PHONE_HASH } = ofPhone('+15550001003');
const HEX = Buffer.from(HASH, 'base64').toString('hex');
const A = ofEmail('a@example.com');
const PHONE = ofPhone('+15550001003');

test.each<[what: string, text: string, options: DiiRowOptions, dii: object[]]>([
  ['the values', '+15550001003\n a@example.com \n+a@example.com', {}, [PHONE, A, ofEmail('+a@example.com')]],
  ['white space around a value, in quotes', '"\u00a0 a@example.com \u00a0"\n"\u00a0 +15550001003 "', {}, [A, PHONE]],
  ['white space around a hash', `"\u00a0 ${HASH} \u00a0"`, { type: 'email_hash' }, [A]],
  ['the type email', 'a@example.com', { type: 'email' }, [A]],
  ['the type phone', '+15550001003', { type: 'phone' }, [PHONE]],
  ['the type email_hash', HASH, { type: 'email_hash' }, [A]],
  ['the type phone_hash', PHONE_HASH, { type: 'phone_hash' }, [PHONE]],
  ['the name email_hash', `email_hash\n${HASH}`, {}, [A]],
  ['the name Phone (hash)', `Phone (hash)\n${PHONE_HASH}`, {}, [PHONE]],
  ['the name email, of hashes', `id;email\n1;${HEX}`, {}, [A]],
  ['the type, for an unknown name', 'y,x\n,+15550001003', { type: 'phone', column: 'x' }, [PHONE]],
  ['the name of the column', 'email,work\nb@example.com,a@example.com', { column: 'work' }, [A]],
  ['a similar name', 'email,work_email\nb@example.com,a@example.com', { column: 'Work e-mail' }, [A]],
  ['the number of a column without a name', 'b@example.com,a@example.com', { column: '2' }, [A]],
  ['the number of a column with a name', 'id,E-Mail\n1,a@example.com', { column: '2' }, [A]],
  ['the type, of two columns', 'phone,email\n+15550001006,a@example.com', { type: 'email' }, [A]],
  ['the name after another delimiter', 'id:email\n1:a@example.com', { delimiter: ':' }, [A]],
  ['the number after a tab', 'a,b\ta@example.com', { delimiter: '\t', column: '2' }, [A]],
])('DII is detected by %s', async (_, text, options, dii) => {
  expect(await read(text, options)).toEqual(dii);
});

test('a header with an unknown name is told from data, also if the first rows have no value', async () => {
  expect(await read('id,contact\n1,\n2,n/a\n3,a@example.com\n', { column: '2' })).toEqual([
    expect.any(String),
    expect.any(String),
    A,
  ]);
});

test('a hash of unknown type below other values is one invalid row', async () => {
  expect(await read(`a@example.com\n${HASH}\n`)).toEqual([
    A,
    'expected --type email_hash or --type phone_hash for a hash, got neither',
  ]);
});

test.each(['email_hash', 'email'])(
  'values in a column %s of hashes are described as hashes, and the hash of an empty field is refused',
  async (header) => {
    const empty = 'E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855';
    expect(await read(`${header}\n${HASH}\n${HASH.slice(1)}\n${empty}\n`)).toEqual([
      A,
      'expected a hash: 32 bytes in base64 or hexadecimal',
      'expected the hash of an address or a number, got that of the empty string: an empty field was hashed',
    ]);
  },
);

test.each<[what: string, options: DiiRowOptions, value: string]>([
  ['a line of JSON', {}, '{"email":"b@example.com"}'],
  ['a name with an address', {}, 'More <b@example.com>'],
  ['a list of addresses, of which one is no address', { column: '1' }, 'b@example.com;none'],
  ['columns that another delimiter separates', { delimiter: ';' }, 'b@example.com,More'],
  ['columns that spaces separate', { type: 'email' }, 'b@example.com More'],
  ['an address with an invisible character', {}, 'b@example.com\u200b'],
  ['an address with a control character', {}, 'b\u0007@example.com'],
  ['an address with a space that is not U+0020', {}, 'b\u00a0b@example.com'],
])('no address is read with what is around it: %s', async (_, options, value) => {
  expect(await read(`email\n"${value.replaceAll('"', '""')}"\na@example.com\n`, options)).toEqual([
    'expected an email address and nothing else',
    A,
  ]);
});

test.each(['a@example.com.', "'a@example.com'", 'a@example.com\u201d'])('%s is not an address', async (value) => {
  expect(await read(`email\n${value}\na@example.com\n`)).toEqual([
    'expected an email address, got a dot or a quotation mark at its end',
    A,
  ]);
});

test.each<[what: string, text: string, column: string, header: string[] | undefined]>([
  ['names the columns', 'id,Contact\n1,a@example.com\n2,nobody\n', '2', ['id', 'Contact']],
  ['may be data if no value follows', 'id,Contact\n1,nobody\n', '2', undefined],
  ['may be data if a field has no letter', '7,Contact\n1,a@example.com\n', '2', undefined],
  ['may be data if it has one column', 'nobody\na@example.com\n', '1', undefined],
])('a first line %s', async (_, text, column, header) => {
  expect((await open(text, { column })).header).toEqual(header);
});
