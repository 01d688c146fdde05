/** The options of an operator, whose meaning `options.ts` has, as data for checks, command line and `--config` file. */

import { MAX_SITE_ID } from '../crypto/keys.ts';
import { MAX_PERIOD_SECONDS, MIN_PERIOD_SECONDS } from '../identity/salts.ts';
import { DEFAULT_ROLES, DEFAULT_SITE_ID, ROLES } from '../ports/roles.ts';
import type { OptionRow } from './checks.ts';
import type { OperatorOptions } from './options.ts';

const CREDENTIAL = { kind: 'string', unset: 'generated and printed', isSecret: true } as const;
const LIFETIME = { kind: 'lifetime', value: 'seconds' } as const;
const COUNT = { kind: 'whole', range: [1, 1_000_000], value: 'number' } as const;

/** In the order of the help. */
export const OPTIONS = {
  apiKey: { ...CREDENTIAL, variable: 'TESSERA_API_KEY', value: 'key', help: 'API key of the participant' },
  clientSecret: {
    ...CREDENTIAL,
    variable: 'TESSERA_CLIENT_SECRET',
    value: 'secret',
    help: 'client secret of the participant, base64 of 32 bytes',
  },
  siteId: {
    kind: 'whole',
    range: [1, MAX_SITE_ID],
    default: DEFAULT_SITE_ID,
    value: 'id',
    help: 'site ID of the participant',
  },
  roles: {
    kind: 'roles',
    default: DEFAULT_ROLES,
    value: 'list',
    help: `roles of the participant, separated by commas: ${ROLES.join(', ')}`,
  },
  participants: { kind: 'array', isSecret: true },
  keepStoredParticipant: { kind: 'boolean', isProgramOnly: true },
  sharing: { kind: 'object' },
  database: {
    kind: 'string',
    unset: 'memory',
    isSecret: true,
    value: 'where',
    help: 'where to store participants, opt-outs and root secret: a folder for one process, postgres://... for several',
  },
  rootSecret: { kind: 'any', variable: 'TESSERA_ROOT_SECRET', isSecret: true },
  storeRootSecret: {
    kind: 'boolean',
    help: 'store a generated root secret in the database without a warning on each start in production',
  },
  environment: {
    kind: 'choice',
    choices: ['integration', 'production'],
    default: 'integration',
    value: 'name',
    help: 'environment of IDs, keys and tokens',
  },
  scope: { kind: 'choice', choices: ['UID2', 'EUID'], default: 'UID2', value: 'name', help: 'identity scope' },
  identityExpires: { ...LIFETIME, default: 3600, inProduction: 86_400, help: 'lifetime of an advertising token' },
  refreshFrom: { ...LIFETIME, default: 900, inProduction: 3600, help: 'age at which a token is due for a refresh' },
  refreshExpires: { ...LIFETIME, default: 86_400, inProduction: 2_592_000, help: 'lifetime of a refresh token' },
  rotationPeriod: {
    kind: 'whole',
    range: [MIN_PERIOD_SECONDS, MAX_PERIOD_SECONDS],
    default: 31_536_000,
    value: 'seconds',
    help: 'time between two rotations of a salt bucket',
  },
  keyGeneration: {
    ...COUNT,
    unset: 'the stored one, or 1',
    help: 'newest generation of token keys, at most 127 without a database',
  },
  keyRotation: {
    kind: 'whole',
    // With a shorter period, too many generations would open at the same time.
    range: [86_400, MAX_PERIOD_SECONDS],
    isZeroAllowed: true,
    unset: '2592000 with a database and without --key-generation, otherwise 0',
    value: 'seconds',
    help: 'time between generations of token keys, 0 for no rotation',
  },
  rateLimit: { ...COUNT, unset: 'no limit', help: 'mapping requests per second and participant, in each node' },
  anonymousRateLimit: {
    ...COUNT,
    unset: 'no limit',
    help: 'refreshes and rejected requests per second and client address, in each node',
  },
  maxBatchSize: { ...COUNT, default: 5000, help: 'identifiers in one mapping request' },
  publicMetrics: { kind: 'boolean' },
  now: { kind: 'function', isProgramOnly: true },
  state: { kind: 'any', isProgramOnly: true },
  logger: { kind: 'any', isProgramOnly: true },
} as const satisfies Readonly<Record<keyof OperatorOptions, OptionRow>>;
