/**
 * `POST /v2/key/sharing`, `/v2/key/bidstream` and `/v2/key/latest`: with these keys libraries open tokens, and sharers seal them.
 * Everyone receives the master keys and those of their own site. The keys of another site go to the sites that the option
 * `sharing` lists for it or, if it lists none for that site, to every ID_READER. Nobody receives a refresh key.
 */

import { toB64 } from '../../token/bytes.ts';
import { type Keys, MASTER, type TokenKey } from '../crypto/keys.ts';
import type { Service } from '../service.ts';
import { SHARING_TOKEN_MS } from '../tokens/key-generations.ts';
import type { Endpoint, EndpointCall } from './endpoint.ts';
import { type EndpointResult, invalidClient, writtenSuccess } from './result.ts';

/** `allow_clock_skew_seconds` of the answers that have it, s. */
const CLOCK_SKEW_SECONDS = 1800;
/** Added to every maximum lifetime, s. */
const LIFETIME_MARGIN_SECONDS = 10;
/** A key opens until its generation is retired. Clients require an expiry time, and drop a key that is no longer listed. */
const KEY_LIFETIME_SECONDS = 31_536_000;
/** Times of expiry are rounded down to the hour, so that rows can be kept that long. */
const HOUR_SECONDS = 3600;

/** Ascending, after {@link MASTER}. The keys include announced ones: clients have a key before the first token under it. */
async function readableSites({ participant }: EndpointCall, service: Service): Promise<readonly number[]> {
  const { sharing } = service.settings;
  const { siteId: own } = participant;
  const stored = await service.participants.siteIds();
  const all = stored.includes(own) ? stored : [...stored, own].sort((a, b) => a - b);
  const isReader = participant.roles.has('ID_READER');
  return [MASTER, ...all.filter((owner) => owner === own || (sharing.get(owner)?.has(own) ?? isReader))];
}

/** The wire form of an owner's keys: the content of a JSON array. Clients that seal use the newest activated key of their site. */
function rowsOf(owned: readonly TokenKey[], hourSeconds: number, { keys }: Service): string {
  const rows = owned.map(({ id, generation, secret }) => {
    const activates = Math.floor((keys.rowOf(generation)?.activatesAt ?? hourSeconds * 1000) / 1000);
    const expires = hourSeconds + KEY_LIFETIME_SECONDS;
    return JSON.stringify({ id, created: activates, activates, expires, secret: toB64(secret) });
  });
  return rows.join();
}

/** The rows of each owner. They are made once for an hour and the keys in force, because 20,000 take a fifth of a second. */
const keptRows = new WeakMap<Keys, { readonly hourSeconds: number; readonly byOwner: Map<number, string> }>();

function rowsKeptFor(keys: Keys, hourSeconds: number): Map<number, string> {
  const kept = keptRows.get(keys);
  if (kept?.hourSeconds === hourSeconds) return kept.byOwner;
  const byOwner = new Map<number, string>();
  keptRows.set(keys, { hourSeconds, byOwner });
  return byOwner;
}

/** The content of a JSON array. `added` returns what follows in each row of a site: a comma and members, or nothing. */
async function writeKeys(
  { now, pause }: EndpointCall,
  service: Service,
  sites: readonly number[],
  added: (siteId: number) => string = () => '',
): Promise<string> {
  const keys = await service.keys.at(now);
  const hourSeconds = Math.floor(now / 1000 / HOUR_SECONDS) * HOUR_SECONDS;
  const kept = rowsKeptFor(keys, hourSeconds);
  const texts: string[] = [];
  for (const siteId of sites) {
    let rows = kept.get(siteId);
    if (rows === undefined) {
      rows = rowsOf(keys.generations(siteId), hourSeconds, service);
      kept.set(siteId, rows);
    }
    const more = added(siteId);
    texts.push(more === '' ? rows : rows.replaceAll('}', `${more}}`));
    await pause();
  }
  return texts.join();
}

async function withKeys(
  call: EndpointCall,
  service: Service,
  head: object,
  added?: (siteId: number) => string,
): Promise<EndpointResult> {
  const sites = await readableSites(call, service);
  return writtenSuccess(async () => {
    const keys = await writeKeys(call, service, sites, added);
    const siteData = sites.slice(1).map((id) => `{"id":${id},"domain_names":[]}`);
    return `{"status":"success","body":${JSON.stringify(head).slice(0, -1)},"keys":[${keys}],"site_data":[${siteData.join()}]}}`;
  }, false);
}

const MASTER_KEYSET = 9_999_999;

/** Every site's keyset number is greater than the master's, so they never collide. */
function keysetOf(siteId: number): number {
  return 10_000_000 + siteId;
}

const SHARING_TOKEN_SECONDS = SHARING_TOKEN_MS / 1000;

export const keySharing: Endpoint = {
  path: '/v2/key/sharing',
  roles: ['SHARER', 'ID_READER'],
  handle: (call, service) => {
    const { siteId: own, roles } = call.participant;
    const head = {
      caller_site_id: own,
      master_keyset_id: MASTER_KEYSET,
      default_keyset_id: keysetOf(own),
      // A string, unlike the other durations, because real services send a string and real clients parse one.
      token_expiry_seconds: `${SHARING_TOKEN_SECONDS}`,
      ...(roles.has('SHARER') && {
        max_sharing_lifetime_seconds: SHARING_TOKEN_SECONDS + LIFETIME_MARGIN_SECONDS,
      }),
      identity_scope: service.settings.scope,
      allow_clock_skew_seconds: CLOCK_SKEW_SECONDS,
    };
    return withKeys(call, service, head, (siteId) => {
      if (siteId === MASTER) return `,"keyset_id":${MASTER_KEYSET}`;
      return siteId === own ? `,"keyset_id":${keysetOf(own)}` : '';
    });
  },
};

export const keyBidstream: Endpoint = {
  path: '/v2/key/bidstream',
  roles: ['ID_READER'],
  handle: (call, service) => {
    const { identityExpiresMs, scope } = service.settings;
    return withKeys(call, service, {
      max_bidstream_lifetime_seconds: Math.ceil(identityExpiresMs / 1000) + LIFETIME_MARGIN_SECONDS,
      identity_scope: scope,
      allow_clock_skew_seconds: CLOCK_SKEW_SECONDS,
    });
  },
};

/** The site IDs of UID2's own keysets: no participant has one of them. */
const LAST_RESERVED_SITE = 2;

/** Returns the keys in the format of older bidder libraries: one list with the site of each key. */
export const keyLatest: Endpoint = {
  path: '/v2/key/latest',
  roles: ['ID_READER'],
  handle: async (call, service) => {
    const { siteId } = call.participant;
    if (siteId <= LAST_RESERVED_SITE) return invalidClient(`Unexpected client site id ${siteId}`);
    const sites = await readableSites(call, service);
    const write = () => writeKeys(call, service, sites, (owner) => `,"site_id":${owner}`);
    return writtenSuccess(async () => `{"status":"success","body":[${await write()}]}`, false);
  },
};
