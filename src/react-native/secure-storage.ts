/** A storage over the Keychain (iOS) and the Keystore (Android), through Expo's `expo-secure-store` or a module of the same form. */

import type { TesseraStorage } from './types.ts';

/** The part of `expo-secure-store` that is used: `import * as SecureStore from 'expo-secure-store'`. */
export interface SecureStore {
  /** Rejects if the value cannot be read now. */
  getItemAsync(key: string, options?: object): Promise<string | null>;
  setItemAsync(key: string, value: string, options?: object): Promise<void>;
  readonly AFTER_FIRST_UNLOCK_THIS_DEVICE_ONLY?: unknown;
}

/**
 * Keep the identity in the device's secure store. `key`: the name of the item, of letters, digits, `.`, `-` and `_`.
 * @example const storage = secureStorage(SecureStore);
 */
export function secureStorage(store: SecureStore, key = 'tessera'): TesseraStorage {
  if (!/^[\w.-]+$/.test(key)) throw new TypeError('key: expected letters, digits, ".", "-" and "_"');
  // Readable after the first unlock, in the background too; in no backup.
  const options = { keychainAccessible: store.AFTER_FIRST_UNLOCK_THIS_DEVICE_ONLY };
  return {
    name: `secure-store ${key}`,
    read: async () => (await store.getItemAsync(key, options)) ?? null,
    write: (text) => store.setItemAsync(key, text, options),
  };
}
