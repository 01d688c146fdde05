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

declare module '*/tessera-host' {
  export const createTesseraHost: typeof import('../../../hosts/react-native/tessera-host').createTesseraHost;
  export type TesseraHost = import('../../../hosts/react-native/tessera-host').TesseraHost;
}
