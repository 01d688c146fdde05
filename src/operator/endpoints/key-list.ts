/**
 * The common part of the key endpoints: which keys a participant receives, and their wire form.
 *
 * Everyone receives the master keys and those of the own site. The keys of another site: if the option `sharing` lists the
 * sites that may decrypt its tokens, those sites; otherwise every ID_READER. Nobody receives a refresh key.
 *
 * @see docs/protocol.md, "Tokens"
 */

import { toB64 } from '../../token/bytes.ts';
import type { TokenKey } from '../crypto/keys.ts';
import { MASTER } from '../crypto/keys.ts';
import type { Service } from '../service.ts';
import type { EndpointCall } from './endpoint.ts';

/** `allow_clock_skew_seconds` of both answers, s. */
export const CLOCK_SKEW_SECONDS = 1800;
/** Added to every maximum lifetime, s. */
export const LIFETIME_MARGIN_SECONDS = 10;
// Keys of this operator do not expire, but clients require a time.
const KEY_LIFETIME_SECONDS = 31_536_000;

/** Return the keys that a participant may read, in the order of their numbers. */
export async function readableKeys({ participant }: EndpointCall, service: Service): Promise<TokenKey[]> {
  const { keys, participants, settings } = service;
  const isReader = participant.roles.has('ID_READER');
  const mayDecrypt = (owner: number): boolean =>
    owner === participant.siteId || (settings.sharing.get(owner)?.has(participant.siteId) ?? isReader);
  const sites = new Set([participant.siteId, ...(await participants.siteIds())]);
  return [MASTER, ...[...sites].filter(mayDecrypt)]
    .flatMap((siteId) => keys.generations(siteId))
    .sort((a, b) => a.id - b.id);
}

/**
 * Return the wire form of a key. Clients use `created` and `activates` only to order the keys of a site, so the generation
 * number takes the place of a time.
 */
export function keyRow({ id, generation, secret }: TokenKey, now: number): object {
  return {
    id,
    created: generation,
    activates: generation,
    expires: Math.floor(now / 1000) + KEY_LIFETIME_SECONDS,
    secret: toB64(secret),
  };
}

/** Return the wire form of the sites that own `keys`. */
export function siteRows(keys: readonly TokenKey[]): object[] {
  return [...new Set(keys.map(({ siteId }) => siteId))]
    .filter((siteId) => siteId !== MASTER)
    .map((id) => ({ id, domain_names: [] }));
}
