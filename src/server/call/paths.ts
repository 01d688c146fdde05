/** The path of each endpoint below the base URL, by the client method that calls it. */

export const PATHS = {
  generate: '/v2/token/generate',
  validate: '/v2/token/validate',
  refresh: '/v2/token/refresh',
  optOut: '/v2/token/logout',
  mapIdentities: '/v3/identity/map',
  mapIdentitiesV2: '/v2/identity/map',
  rotatedBuckets: '/v2/identity/buckets',
  optOutStatus: '/v2/optout/status',
} as const;

/** Describe a request as error messages do: `generate: POST /v2/token/generate`. */
export function requestName(path: string): string {
  const method = Object.entries(PATHS).find(([, known]) => known === path)?.[0];
  return method === undefined ? `POST ${path}` : `${method}: POST ${path}`;
}
