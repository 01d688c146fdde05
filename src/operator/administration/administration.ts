/** Keys and participants of an operator, administered through its database. Running nodes apply changes within a second. */

import { assertMigrated, type Database } from '../../database/index.ts';
import { TokenError } from '../../token/index.ts';
import { createSecrets, type Secrets } from '../crypto/secrets.ts';
import { secretBytes } from '../options/checks.ts';
import type { KeyStore, StoredGeneration } from '../ports/state.ts';
import { readInstallation } from '../state/installation.ts';
import { keyRows, MAX_DIFFERENCE_SECONDS } from '../state/key-rows.ts';
import { participantRows } from '../state/participant-rows.ts';
import { TABLES } from '../state/tables.ts';
import { endsAt, liveGenerations, nextGeneration, sealingGeneration } from '../tokens/key-generations.ts';
import { type ParticipantAdministration, participantsOf } from './participant-administration.ts';

/** Options of {@link openAdministration}. */
export interface AdministrationOptions {
  /** The operator's database: a folder that no process has open, or `postgres://...`. */
  readonly database: string;
  /** As for the operator. Required to add or change participants, unless the database stores it. */
  readonly rootSecret?: Uint8Array | string | undefined;
  /** The clock, epoch ms. Default: `Date.now`. */
  readonly now?: (() => number) | undefined;
}

/** A key generation. Instants are epoch ms. */
export interface KeyGeneration {
  readonly generation: number;
  /** `announced`: encrypts later. `encrypts`: also decrypts. `decrypts`: a later one encrypts. `retired`: neither. */
  readonly state: 'announced' | 'encrypts' | 'decrypts' | 'retired';
  readonly activatesAt: number;
  readonly retiredAt: number | null;
  /** From when on no token under it can be valid, with a day for clocks; null until a later one is announced or it is retired. */
  readonly endsAt: number | null;
}

/** Administration of an operator. */
export interface Administration {
  readonly keys: {
    list(): Promise<KeyGeneration[]>;
    /**
     * Announce the next generation. If all are retired, it encrypts at once; until then, the nodes respond with 503.
     *
     * @param inMs  time until it encrypts, ms, from 5000 to 31,622,400,000 (366 days).
     * @throws {RangeError} if a generation is already announced, or `inMs` is out of range.
     */
    rotate(inMs: number): Promise<KeyGeneration>;
    /**
     * Retire a generation: it decrypts nothing from now on. With `force`, even if tokens under it may be valid.
     *
     * @throws {RangeError} if there is none, if it encrypts now, or, without `force`, if its tokens may be valid or it encrypts
     *   within ten minutes: a node whose clock is ahead may have encrypted with it.
     */
    retire(generation: number, force: boolean): Promise<KeyGeneration>;
  };
  readonly participants: ParticipantAdministration;
  close(): Promise<void>;
}

/** Every node reads the announcement within a second. The remainder allows for clocks that differ. */
const MIN_ANNOUNCE_MS = 5000;
/** No further generation is announced until this one encrypts. */
const MAX_ANNOUNCE_MS = 366 * 86_400_000;

function instant(at: number): string {
  return new Date(at).toISOString();
}

/** Why a generation can only be retired by force: tokens under it may be valid. Undefined if none can be valid. */
function inUseFault({ generation, state, activatesAt, endsAt: end }: KeyGeneration, now: number): string | undefined {
  if (state === 'decrypts' && !(end !== null && end <= now))
    return `a generation whose tokens have all expired, got ${generation}, whose tokens may be valid until ${end === null ? 'another one encrypts' : instant(end)}`;
  // Each node starts to encrypt with it according to its own clock.
  if (state === 'announced' && activatesAt - now < MAX_DIFFERENCE_SECONDS * 1000)
    return `a generation that encrypts in ${MAX_DIFFERENCE_SECONDS} s or later, got ${generation}, which encrypts from ${instant(activatesAt)}: nodes whose clocks are ahead may have issued tokens under it`;
  return undefined;
}

function describeGenerations(rows: readonly StoredGeneration[], now: number): KeyGeneration[] {
  const encrypting = sealingGeneration(rows, now)?.generation;
  return rows.map((row) => {
    const { generation, activatesAt, retiredAt } = row;
    const state =
      retiredAt !== null
        ? 'retired'
        : generation === encrypting
          ? 'encrypts'
          : generation > (encrypting ?? 0)
            ? 'announced'
            : 'decrypts';
    const validUntil = Math.min(endsAt(rows, row) ?? Infinity, retiredAt ?? Infinity);
    return { generation, state, activatesAt, retiredAt, endsAt: validUntil === Infinity ? null : validUntil };
  });
}

function keysOf(store: KeyStore, now: () => number): Administration['keys'] {
  const describe = (rows: readonly StoredGeneration[]): KeyGeneration[] => describeGenerations(rows, now());
  const find = (rows: readonly StoredGeneration[], number: number): KeyGeneration => {
    const found = describe(rows).find(({ generation }) => generation === number);
    if (!found) throw new RangeError(`keys: expected a stored generation, got ${number}`);
    return found;
  };
  const findAnnounced = (rows: readonly StoredGeneration[]): KeyGeneration | undefined =>
    describe(rows).find(({ state }) => state === 'announced');
  const put = async (row: StoredGeneration): Promise<KeyGeneration> => {
    await store.put([row]);
    return find(await store.list(), row.generation);
  };

  return {
    list: async () => describe(await store.list()),
    rotate: async (inMs) => {
      if (!(inMs >= MIN_ANNOUNCE_MS && inMs <= MAX_ANNOUNCE_MS))
        throw new RangeError(
          `inMs: expected from ${MIN_ANNOUNCE_MS} to ${MAX_ANNOUNCE_MS} ms until the key encrypts, got ${inMs}`,
        );
      const rows = await store.list();
      const announced = findAnnounced(rows);
      if (announced)
        throw new RangeError(
          `keys: expected no announced generation, got ${announced.generation}, which starts to encrypt at ${instant(announced.activatesAt)}; retire it to announce another`,
        );
      const live = liveGenerations(rows);
      // The longest lifetime on any node: among the live generations, or among the retired ones if none is live.
      const longestMs = Math.max(...(live.length > 0 ? live : rows).map((row) => row.longestMs));
      return put(nextGeneration(rows, live.length > 0 ? now() + Math.round(inMs) : now(), longestMs));
    },
    retire: async (number, force) => {
      const rows = await store.list();
      const found = find(rows, number);
      if (found.state === 'encrypts') {
        const next = findAnnounced(rows);
        const remedy = next
          ? `wait until generation ${next.generation} starts to encrypt, at ${instant(next.activatesAt)}`
          : 'rotate first';
        throw new RangeError(`keys: expected a generation that does not encrypt now, got ${number}; ${remedy}`);
      }
      const fault = force ? undefined : inUseFault(found, now());
      if (fault !== undefined)
        throw new RangeError(`keys: expected ${fault}; keys retire --force makes its tokens invalid`);
      const row = rows.find(({ generation }) => generation === number)!;
      return put({ ...row, retiredAt: now() });
    },
  };
}

/** @throws {TokenError} `storage_failed` unless an operator of this version with this root secret has started on the database. */
export async function administrationOf(
  database: Database,
  { rootSecret, now = Date.now }: AdministrationOptions,
): Promise<Administration> {
  const [table] = await database.query<{ exists: boolean }>(
    "SELECT to_regclass('tessera_operator') IS NOT NULL AS exists",
  );
  const stored = table?.exists ? await readInstallation(database) : undefined;
  if (!stored)
    throw new TokenError(
      'storage_failed',
      'database: expected one on which an operator has been started, got one without an operator',
    );
  // Only a starting operator migrates the tables. Administration must not change them under nodes of an older version.
  await assertMigrated(database, TABLES);
  const root = rootSecret === undefined ? stored.root : secretBytes('rootSecret', rootSecret);
  const derived = root && createSecrets(root, stored.environment, stored.scope);
  if (derived && derived.fingerprint !== stored.fingerprint)
    throw new TokenError(
      'storage_failed',
      `database: expected a root secret with the fingerprint ${stored.fingerprint}, with which this database was created, got ${derived.fingerprint}`,
    );
  const secrets = (): Secrets => {
    if (derived) return derived;
    throw new RangeError('rootSecret: expected the root secret with which this database was created, got none');
  };
  // Without a root secret, only listing and revoking are possible.
  const store = participantRows(database, {
    derive: (label) => secrets().derive(label),
    fingerprint: stored.fingerprint,
  });
  return {
    keys: keysOf(keyRows(database), now),
    participants: participantsOf(store, secrets, stored, now),
    close: () => database.close(),
  };
}
