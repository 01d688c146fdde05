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

declare module 'express' {
  type Listener = (request: unknown, response: { sendFile(name: string, options: { root: string }): void }) => unknown;
  interface App {
    use(path: string, listener: ReturnType<typeof import('tessera-id/server/node').toNodeListener>): void;
    use(listener: ReturnType<typeof express.static>): void;
    get(path: string, listener: Listener): void;
    listen(port: number, host: string, onListening: () => void): void;
  }
  function express(): App;
  namespace express {
    function static(folder: string): () => void;
  }
  export default express;
}
