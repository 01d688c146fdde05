import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { openDatabase } from '../../src/database/database.ts';
import { locationKind } from '../../src/database/index.ts';
import { inspected } from './locations.ts';

describe('a location', () => {
  const OTHER = 'got a connection in another form; a folder needs a name without : = @ and ?';
  test.each<[place: string, said: string]>([
    ['', 'got an empty string'],
    [' ', 'got an empty string'],
    ['secret\0', 'got a string with U+0000'],
    ['mysql://user:secret@host/name', 'got mysql://'],
    ['postgres://user:secret@host:port/name', 'got a malformed URL'],
    ['postgres://user:1/secret@host/name', 'got a URL with @ after the host; percent-encode'],
    ['postgres://user:1#secret@host/name', 'got a URL with @ after the host; percent-encode'],
    ['postgres://user:4711?secret@host/name', 'got a URL with @ after the host; percent-encode'],
    ['postgres://user:secret@one:5432,two:5432/name', 'got several hosts'],
    ['postgres://user:secret@one,two/name', 'got several hosts'],
    ['postgres://user:secret@/name?host=one%2Ctwo', 'got several hosts'],
    ['postgres://user:secret@host/name?target_session_attrs=read-write', 'got target_session_attrs, which pg ignores'],
    ['postgres://user:secret@host/name?service=main', 'got service, which pg ignores'],
    ['postgres://user:secret@host/name?hostaddr=127.0.0.1', 'got hostaddr, which pg ignores'],
    [
      'postgres://user:secret@host/name?sslrootcert=system',
      'got sslrootcert=system, which pg reads as the name of a file',
    ],
    [' postgres://user:secret@host/name', 'got white space'],
    ['secret ', 'got white space'],
    ['postgres:/user:secret@host/name', OTHER],
    ['jdbc:postgresql://host/name?user=user&password=secret', OTHER],
    ['jdbc:postgresql:secret', OTHER],
    ['"postgres://user:secret@host/name"', OTHER],
    ['//user:secret@host/name', OTHER],
    ['user:secret@host/name', OTHER],
    ['user@host/secret', OTHER],
    ['127.0.0.1:5432/secret', OTHER],
    ['[::1]:5432/secret', OTHER],
    ['db_host:5432/secret', OTHER],
    ['host=127.0.0.1 dbname=x password=secret', OTHER],
    ['host = /run/postgresql password = secret', OTHER],
    ['/run/postgresql dbname=x password=secret', OTHER],
    ['//host:5432/secret', OTHER],
    ['host/name?user=user&password=secret', OTHER],
  ])('%s is refused', async (place, said) => {
    const error = await openDatabase(place).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(RangeError);
    expect((error as Error).message).toContain('expected a folder or postgres://');
    expect((error as Error).message).toContain(said);
    expect(inspected(error)).not.toContain('secret');
  });

  test.each([
    ['PGHOST', 'one,two', 'postgres:///name', 'got several hosts in PGHOST'],
    ['PGHOST', 'one,two', 'postgres://host/name', undefined],
    ['PGTARGETSESSIONATTRS', 'read-write', 'postgres://host/name', 'got PGTARGETSESSIONATTRS, which pg ignores'],
    ['PGSERVICE', 'main', 'postgres://host/name', 'got PGSERVICE, which pg ignores'],
    ['PGSERVICE', 'main', 'data', undefined],
  ])('with %s=%s in the environment, %s is refused: %s', (name, value, place, said) => {
    vi.stubEnv(name, value);
    onTestFinished(() => void vi.unstubAllEnvs());
    if (said === undefined) expect(locationKind(place)).toBeTruthy();
    else expect(() => locationKind(place)).toThrow(said);
  });

  test.each<[place: string, kind: string]>([
    ...['data', './host=a:1', '/srv/env=prod/a:b', 'C:\\data', 'c:/data', '\\\\server\\share', 'a b/ü'].map(
      (place): [string, string] => [place, 'folder'],
    ),
    ['postgres://user:p%40s,s@host/name?sslrootcert=a,b', 'url'],
    ['postgresql:///name?host=/run/postgresql&user=name@server', 'url'],
  ])('%s is a %s', (place, kind) => expect(locationKind(place)).toBe(kind));
});
