/** Checks the options that define participants. No message contains an API key or a client secret. */

import { nameFault, typeFault } from '../../token/checks.ts';
import { expectedGot } from '../../token/errors.ts';
import { MAX_SITE_ID } from '../crypto/keys.ts';
import { DEFAULT_SITE_ID, type GivenCredentials, ROLES } from '../ports/roles.ts';
import { choice, integer, requireString, secretBytes, throwTypeIf } from './checks.ts';

/** The options of one participant. */
export const CREDENTIAL_NAMES = { apiKey: 0, clientSecret: 0, siteId: 0, roles: 0 } satisfies Record<
  keyof GivenCredentials,
  0
>;

/** Check credentials without showing them; `path` precedes the names in messages. Missing credentials are generated later. */
export function checkCredentials(path: string, given: GivenCredentials): void {
  throwTypeIf(nameFault(path, Object.keys(CREDENTIAL_NAMES), given));
  const { apiKey, clientSecret, siteId, roles } = given;
  if (apiKey !== undefined) {
    const name = `${path}apiKey`;
    requireString(name, apiKey);
    if (!/^[\x21-\x7e]+$/.test(apiKey))
      throw new RangeError(
        expectedGot(name, 'visible ASCII characters', `another string of ${apiKey.length} characters`),
      );
  }
  if (clientSecret !== undefined) {
    requireString(`${path}clientSecret`, clientSecret);
    secretBytes(`${path}clientSecret`, clientSecret);
  }
  if (siteId !== undefined) integer(`${path}siteId`, siteId, 1, MAX_SITE_ID);
  if (roles !== undefined) throwTypeIf(typeFault(`${path}roles`, 'array', roles));
  for (const role of roles ?? []) choice(`${path}roles`, role, ROLES);
}

/** The options that define participants: a list, and a shorthand for one. */
interface ParticipantOptions extends GivenCredentials {
  readonly participants?: readonly GivenCredentials[] | undefined;
  readonly keepStoredParticipant?: boolean | undefined;
}

/** A participant from the options. */
export interface ConfiguredCredentials extends GivenCredentials {
  /** If it is already stored, the stored one is kept. */
  readonly keepStored?: boolean;
}

/** Of two participants with one key, the later would replace the earlier. */
function requireOwnKeys(participants: readonly ConfiguredCredentials[], nameOf: (index: number) => string): void {
  const owners = new Map<string | number, number>();
  for (const [index, { apiKey, siteId = DEFAULT_SITE_ID, keepStored }] of participants.entries()) {
    // A participant without an API key gets the one that is derived for its site.
    const key = apiKey ?? siteId;
    const owner = owners.get(key);
    if (owner === undefined) owners.set(key, index);
    else if (!keepStored) {
      const other = `that of participants[${owner}]`;
      throw new RangeError(
        apiKey === undefined
          ? expectedGot(nameOf(index), `one, because the key derived for site ${siteId} is ${other}`, 'none')
          : expectedGot(nameOf(index), 'one that no other participant has', other),
      );
    }
  }
}

/** Return the participants in the options, including that of the shorthand. */
export function participantsOption(options: ParticipantOptions): readonly ConfiguredCredentials[] {
  const { participants, apiKey, clientSecret, siteId, roles, keepStoredParticipant = false } = options;
  throwTypeIf(typeFault('keepStoredParticipant', 'boolean', keepStoredParticipant));
  const shorthand = { apiKey, clientSecret, siteId, roles };
  checkCredentials('', shorthand);
  const configured = { ...shorthand, keepStored: keepStoredParticipant };
  if (participants === undefined) return [configured];
  throwTypeIf(typeFault('participants', 'array', participants));
  participants.forEach((given, index) => {
    throwTypeIf(typeFault(`participants[${index}]`, 'object', given));
    checkCredentials(`participants[${index}].`, given);
  });
  const all = apiKey === undefined ? participants : [...participants, configured];
  requireOwnKeys(all, (index) => (index < participants.length ? `participants[${index}].apiKey` : 'apiKey'));
  return all;
}
