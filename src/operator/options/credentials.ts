/** Checks the options that define participants. No message contains an API key or a client secret. */

import { nameFault, throwIf, typeFault } from '../../token/checks.ts';
import { expectedGot } from '../../token/errors.ts';
import { DEFAULT_SITE_ID, type GivenCredentials } from '../ports/roles.ts';
import { checkOptions, type OptionRow, secretBytes } from './checks.ts';
import type { ConfiguredCredentials, OperatorOptions } from './options.ts';
import { OPTIONS } from './table.ts';

const { apiKey, clientSecret, siteId, roles } = OPTIONS;
const CREDENTIALS = { apiKey, clientSecret, siteId, roles } satisfies Record<keyof GivenCredentials, OptionRow>;

/** Check the credentials of one participant; `path` precedes the names in messages. Missing credentials are generated later. */
export function checkCredentials(path: string, given: GivenCredentials): void {
  throwIf(nameFault(path, Object.keys(CREDENTIALS), given));
  checkOptions(CREDENTIALS, given, path);
  const { apiKey, clientSecret } = given;
  if (apiKey !== undefined && !/^[\x21-\x7e]+$/.test(apiKey))
    throw new RangeError(
      expectedGot(`${path}apiKey`, 'visible ASCII characters', `another string of ${apiKey.length} characters`),
    );
  if (clientSecret !== undefined) secretBytes(`${path}clientSecret`, clientSecret);
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

export function participantsOption(options: OperatorOptions): readonly ConfiguredCredentials[] {
  const { participants, apiKey, clientSecret, siteId, roles, keepStoredParticipant = false } = options;
  const shorthand = { apiKey, clientSecret, siteId, roles };
  checkCredentials('', shorthand);
  const configured = { ...shorthand, keepStored: keepStoredParticipant };
  if (participants === undefined) return [configured];
  participants.forEach((given, index) => {
    throwIf(typeFault(`participants[${index}]`, 'object', given));
    checkCredentials(`participants[${index}].`, given);
  });
  const all = apiKey === undefined ? participants : [...participants, configured];
  requireOwnKeys(all, (index) => (index < participants.length ? `participants[${index}].apiKey` : 'apiKey'));
  return all;
}
