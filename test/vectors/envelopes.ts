/** Vectors of envelopes. See docs/protocol.md, "Test vectors". */

/**
 * Request envelopes under one secret, with one time, nonce and initialisation vector.
 *
 * Provenance: the public tests of the ecosystem's Java SDK.
 */
export const REQUESTS = {
  secretB64: 'ioG3wKxAokmp+rERx6A4kM/13qhyolUXIu14WN16Spo=',
  at: 1_667_885_597_644,
  nonceHex: '312fe5aa08b2a049',
  ivHex: 'cc3ccaca9889eab3800e787e',
  rows: [
    [
      '{"email":"test@example.com"}',
      'Acw8ysqYieqzgA54fifdV1TB6V+da8p/AFc8Ju/IYrD77pL7JYMJj8YqD9EsrG3d2d2j0H7kZjH41YsNLpFVCH+oce28z9L9ug==',
    ],
    [
      '{"phone":"+12345678901"}',
      'Acw8ysqYieqzgA54fifdV1TB6V+da8p/AFc8Ju/IYqX+4JXyJYMJ0JJrSKV84juIkIH33GCmx+7RM2pSX9P4nAN0pn2g',
    ],
    [
      '{"email_hash":"tMmiiTI7IaAcPpQPFQ65uMVCWH8av9jw4cwf/F5HVRQ="}',
      'Acw8ysqYieqzgA54fifdV1TB6V+da8p/AFc8Ju/IYrD77pL7WNFKiMt7QbM9mWHZwOWPyVTqSnDVNzhXRdcmIkV0ODOdll2inDo9iIZQ5oV2NvSUSWG5j6ACiXKH0JxiTPzs716eIH7P1Q==',
    ],
    [
      '{"phone_hash":"EObwtHBUqDNZR33LNSMdtt5cafsYFuGmuY4ZLenlue4="}',
      'Acw8ysqYieqzgA54fifdV1TB6V+da8p/AFc8Ju/IYqX+4JXyWNFKiMt7QbMMm27H3fmEq2zPRUnXdFpLTdVdc0RNWxOruBaarHYQksdqpbkVFa+walbcj6AClILBJjbDMl1IoeqJVG2fyw==',
    ],
  ] satisfies [json: string, envelopeB64: string][],
};

/**
 * Refresh answers under the key of bytes 00 01 .. 1f.
 *
 * Provenance: made with Node's `createCipheriv('aes-256-gcm')` in the layout of docs/protocol.md, "Refresh"; initialisation
 * vectors of 12 equal bytes (01, 02, 03; 09 for the plaintext that is not UTF-8: bytes 7b ff fe 7d).
 */
export const REFRESHES = {
  keyB64: 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=',
  rows: [
    ['{"status":"optout"}', 'AQEBAQEBAQEBAQEBDOGWQQnxHRX2bkV3aBM9rb9M8j2XUfHFWwHB97gPeSQro5g='],
    [
      '{"status":"success","body":{"note":"ÆØÅ 😊 漢字"}}',
      'AgICAgICAgICAgIC4Apqz9itRCjpv4CLRhq5dm+ajUC2NheVO3zreFUFJra12uJA3LAwQBrvokF1YMS4lGWueOs++hlxWvmzd1H+PyFUv4ZbwgAGwg==',
    ],
    ['', 'AwMDAwMDAwMDAwMDwbQcAe6IC0D4c2vns6rfLw=='],
  ] satisfies [json: string, bodyB64: string][],
  notUtf8B64: 'CQkJCQkJCQkJCQkJyOf2RnIm4cm2tx2wUFaga3HkeI8=',
};
