/** Modules of the reader's app that the documentation imports; another block of the same page shows their code. */

declare module '*/identity' {
  export const session: import('tessera-id').Session;
}

declare module '*/tessera' {
  export function Tessera(props: { children: import('react').ReactNode }): import('react').ReactNode;
}

declare module '*/ads' {
  export function Ads(): import('react').ReactNode;
}

declare module '*/adapters' {
  export function Adapters(): import('react').ReactNode;
}

declare module 'react-native' {
  export const AppState: { addEventListener(type: 'change', listener: (state: string) => void): unknown };
}

declare module 'expo-secure-store' {
  export const AFTER_FIRST_UNLOCK_THIS_DEVICE_ONLY: number;
  export function getItemAsync(key: string, options?: object): Promise<string | null>;
  export function setItemAsync(key: string, value: string, options?: object): Promise<void>;
}
