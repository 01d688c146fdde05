/**
 * The common part of the key endpoints: which keys a participant receives, and the wire form of these keys.
 *
 * Everyone receives the master keys and those of their own site. The keys of another site go to the sites that the option
 * `sharing` lists for it or, if it lists none for that site, to every ID_READER. Nobody receives a refresh key.
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
// A key opens until its generation is retired. Clients require an expiry time, and drop a key that is no longer listed.
const KEY_LIFETIME_SECONDS = 31_536_000;

/**
 * Return the keys that a participant may read, grouped by owner, each owner's keys in the order of their activation. Announced
 * keys are included, so that clients have a key before the first token under it.
 */
export async function readableKeys({ now, participant }: EndpointCall, service: Service): Promise<TokenKey[]> {
  const { participants, settings } = service;
  const keys = await service.keys.at(now);
  const isReader = participant.roles.has('ID_READER');
  const mayDecrypt = (owner: number): boolean =>
    owner === participant.siteId || (settings.sharing.get(owner)?.has(participant.siteId) ?? isReader);
  const sites = new Set([participant.siteId, ...(await participants.siteIds())]);
  return [MASTER, ...[...sites].filter(mayDecrypt).sort((a, b) => a - b)].flatMap((siteId) => keys.generations(siteId));
}

/** Return the wire form of a key. Clients that seal use the newest activated key of their site. */
export function keyRow({ id, generation, secret }: TokenKey, now: number, service: Service): object {
  const activates = Math.floor((service.keys.rowOf(generation)?.activatesAt ?? now) / 1000);
  return {
    id,
    created: activates,
    activates,
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
