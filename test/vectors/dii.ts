/**
 * Vectors of normalising and hashing DII.
 *
 * Provenance: the public tests and documentation of the Unified ID 2.0 ecosystem's operator and SDKs; the edge cases come
 * from running its Java SDK, which has the rules of the operator. See docs/protocol.md, "Normalisation" and "Test vectors".
 */

/** Input, normal form, base64 of the SHA-256 of the normal form. From the tests of the operator. */
export const EMAILS: [input: string, normal: string, hashB64: string][] = [
  ['TEst.TEST@Test.com ', 'test.test@test.com', 'dvECjPKZHya0/SIhSGwP0m8SgTv1vzLxPULUOsm880M='],
  ['test.test@gmail.com', 'testtest@gmail.com', 'LkLfFrut8Tc3h/fIvYDiBKSbaMiau/DtaLBPQYszdMw='],
  [' TEstTEst@GMail.Com  ', 'testtest@gmail.com', 'LkLfFrut8Tc3h/fIvYDiBKSbaMiau/DtaLBPQYszdMw='],
  ['TEst.TEst+123@GMail.Com', 'testtest@gmail.com', 'LkLfFrut8Tc3h/fIvYDiBKSbaMiau/DtaLBPQYszdMw='],
  ['test+test@test.com', 'test+test@test.com', 'rQ4yzdOz4uG8N54326QyZD6/JwqrXn4lmy34cVCojB8='],
  ['+test@test.com', '+test@test.com', 'weFizOVVWKlLfyorbBU8oxYDv4HJtTZCPMyZ4THzUQE='],
  ['test+test@gmail.com', 'test@gmail.com', 'h5JGBrQTGorO7q6IaFMfu5cSqqB6XTp1aybOD11spnQ='],
  ['testtest@test.com', 'testtest@test.com', 'd1Lr/s4GLLX3SvQVMoQdIMfbQPMAGZYry+2V+0pZlQg='],
  [' testtest@test.com', 'testtest@test.com', 'd1Lr/s4GLLX3SvQVMoQdIMfbQPMAGZYry+2V+0pZlQg='],
  ['testtest@test.com ', 'testtest@test.com', 'd1Lr/s4GLLX3SvQVMoQdIMfbQPMAGZYry+2V+0pZlQg='],
  [' testtest@test.com ', 'testtest@test.com', 'd1Lr/s4GLLX3SvQVMoQdIMfbQPMAGZYry+2V+0pZlQg='],
  ['  testtest@test.com  ', 'testtest@test.com', 'd1Lr/s4GLLX3SvQVMoQdIMfbQPMAGZYry+2V+0pZlQg='],
  ['😊testtest@test.com', '😊testtest@test.com', 'fAFEUqApQ0V/M9mLj/IO54CgKgtQuARKsOMqtFklD4k='],
  ['testtest@😊test.com', 'testtest@😊test.com', 'tcng5pttf7Y2z4ylZTROvIMw1+IVrMpR4D1KeXSrdiM='],
  ['testtest@test.com😊', 'testtest@test.com😊', '0qI21FPLkuez/8RswfmircHPYz9Dtf7/Nch1rSWEQf0='],
];

/** Input and normal form. From running the Java SDK. */
export const EMAIL_EDGES: [input: string, normal: string][] = [
  ['test test@test.com', 'testtest@test.com'],
  [' a b @x.com', 'ab@x.com'],
  ['a b.c+d@gmail.com', 'abc@gmail.com'],
  ['test@te st.com', 'test@te st.com'],
  ['test@ test.com', 'test@ test.com'],
  ['a@b.com ,x', 'a@b.com ,x'],
  ['test@test.com\t', 'test@test.com\t'],
  ['\ttest@test.com', '\ttest@test.com'],
  ['\u00a0test@test.com', '\u00a0test@test.com'],
  ['TÉST@EXAMPLE.COM', 'tÉst@example.com'],
  ['İ@x.com', 'İ@x.com'],
  ['a@b', 'a@b'],
  ['+@example.com', '+@example.com'],
  ['.@example.com', '.@example.com'],
  ['..@b.c', '..@b.c'],
  ['a@b..com', 'a@b..com'],
  ['a.b+c@googlemail.com', 'a.b+c@googlemail.com'],
  ['a.b+c@mail.gmail.com', 'a.b+c@mail.gmail.com'],
  ['a.b+c@GMAIL.com', 'ab@gmail.com'],
  ['a+b+c@gmail.com', 'a@gmail.com'],
  ['a@gmail.com.', 'a@gmail.com.'],
];

/** Strings that are not email addresses. From the tests of the operator, and from running the Java SDK. */
export const INVALID_EMAILS = [
  '',
  ' @',
  '@',
  'a@',
  '@b',
  '@b.com',
  '+',
  ' ',
  '+@gmail.com',
  '.+@gmail.com',
  '.@gmail.com',
  'a@ba@z.com',
  'a@@b.com',
  '@@',
  'a@ ',
];

/** Phone numbers in normal form. */
export const PHONES = [
  '+1234567890',
  '+12345678901',
  '+123456789012',
  '+1234567890123',
  '+12345678901234',
  '+123456789012345',
  '+00000000000',
];
/** Strings that are not phone numbers in normal form. */
export const INVALID_PHONES = [
  '',
  '+',
  '1234567890',
  '+123456789',
  '+1234567890123456',
  '+1234567890A',
  '+1234567890 ',
  ' +1234567890',
  '+1234567890\n',
  '+12345+67890',
  '+ 1234 56789',
  '555-555-5555',
  '(555) 555-5555',
  '+١٢٣٤٥٦٧٨٩٠',
];

/** A normalised DII and the base64 of its SHA-256. */
export const HASHES: [normalized: string, hashB64: string][] = [
  ['user@example.com', 'tMmiiTI7IaAcPpQPFQ65uMVCWH8av9jw4cwf/F5HVRQ='],
  ['user2@example.com', 'KzsrnOhCq4tqbGFMsflgS7ig1QLRr0nFJrcrEIlOlbU='],
  ['test@example.com', 'lz3+Rj7IV4X1+Vr1ujkG7tstkxwk5pgkqJ6mXbpOgTs='],
  ['validate@example.com', 'ntI244ZRTXwAwpki6/M5cyBYW7h/Wq576lnN3l9+W/c='],
  ['optout@example.com', 'DYsnJ8r5+cjRDHue98gIGDKvLIMuqAm/RRLODrjqK50='],
  ['refresh-optout@example.com', 'NaNI8RU0bL1Jpp1jJLC5aJO/lchc6gGhgXQIAwJ7cV4='],
  ['myemail@example.com', 'FsGNM28LJQ8OLZB0Us65ZYp07NrovJSGTCMSKnLMJ6U='],
  ['my.email@example.com', '4itTvG+HEnTzpiqzejyu1yFPwU1nYhWpaiQvz62hyB8='],
  ['janesaoirse@example.com', '1mcOepIAfxtf94Xx/IHlOqbT170GvfXEc83HKGwoS20='],
  ['jane.saoirse@example.com', 'sZZDLHuYmiypHIN5mVfFFdpT5sE6vyC3j+qU8RfpC/g='],
  ['janesaoirse+work@example.com', 'KKruSBUjDNO069iMUVImVQZm6RrAGZKeOtrD9mwogYA='],
  ['janesaoirse@gmail.com', 'ku4mBX7Z3qJTXWyLFB1INzkyR2WZGW4ANSJUiW21iI8='],
  // Not normalised, so its hash differs from the one above.
  ['JANESaoirse@gmail.com', 'VpLXEp5N1bj/V1WzjgZsC+FfuYdntAOywSVIO00FD/E='],
  ['+12345678901', 'EObwtHBUqDNZR33LNSMdtt5cafsYFuGmuY4ZLenlue4='],
  ['+441234567890', 'Rx8SW4ZyKqbPypXmswDNuq0SPxStFXBTG/yvPns/2NQ='],
  ['+00000000000', '313yQvZOTb0vjjEU7sTO/UWxGPzVppIbCyQEJEnfxLo='],
  ['+00000000002', '0VoxsIuk88qt7TnZaTC//C9Vur3pR1zBMIr1cJe7xjE='],
];
export const USER_HASH_HEX = 'b4c9a289323b21a01c3e940f150eb9b8c542587f1abfd8f0e1cc1ffc5e475514';

/** The hash of foo@bar.com in its two accepted forms; the source prints only both ends of the hexadecimal one. */
export const FOO_HASH = { b64: 'DH5qQFhi5ALrdqcPiib8cy0Hwykx6frpqxWCkR0uijs=', hexStart: '0c7e6a40', hexEnd: '8a3b' };
