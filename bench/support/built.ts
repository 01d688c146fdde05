/** What users get: the files of `dist/` with the types of their sources. Dynamic imports, so that type checking needs no build. */

const load = (path: string): Promise<unknown> => import(new URL(`../../dist/${path}`, import.meta.url).href);

export const builtOperator = () => load('operator/index.js') as Promise<typeof import('../../src/operator/index.ts')>;
export const builtNode = () => load('operator/node.js') as Promise<typeof import('../../src/operator/node.ts')>;
export const builtServer = () => load('server/index.js') as Promise<typeof import('../../src/server/index.ts')>;
export const builtMapping = () => load('mapping/index.js') as Promise<typeof import('../../src/mapping/index.ts')>;
