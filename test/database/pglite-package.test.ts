import { describe, expect, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { PGLITE_RANGE, pgliteFault } from '../../src/database/packages.ts';
import { checkSync } from '../../src/database/pglite/durable-files.ts';

describe('the version of PGlite', () => {
  test('is that of the peer range', () => {
    expect(manifest.peerDependencies['@electric-sql/pglite']).toBe(PGLITE_RANGE);
    expect(pgliteFault(manifest.devDependencies['@electric-sql/pglite'])).toBeUndefined();
  });

  test.each(['0.5.0', '0.5.14', '0.4.5', '0.6.0', '1.0.0'])('%s is refused in words', (version) => {
    expect(pgliteFault(version)).toBe(`@electric-sql/pglite: expected version ~0.5.15, got ${version}`);
  });

  test.each(['0.5.15', '0.5.17', '0.5.100', undefined])('%s is used', (version) => {
    expect(pgliteFault(version)).toBeUndefined();
  });
});

describe('a folder that cannot be synced', () => {
  const failing = (fields: object) => () => {
    throw Object.assign(new Error('of the system'), fields);
  };

  test.each(['EINVAL', 'ENOTSUP', 'EPERM'])('is refused with what to use instead (%s)', (code) => {
    expect(() => checkSync('/mnt/share', failing({ code, syscall: 'fsync' }))).toThrow(
      `database: the file system of /mnt/share cannot make commits durable (fsync ${code}), as on SMB and shared folders; use a folder on a local disk, a volume of the container, or PostgreSQL`,
    );
  });

  test('is told from one that cannot be opened', () => {
    expect(() => checkSync('/mnt/share', failing({ code: 'EACCES', syscall: 'open' }))).toThrow('of the system');
  });

  test('is not what a local disk is', () => expect(() => checkSync(import.meta.dirname)).not.toThrow());
});
