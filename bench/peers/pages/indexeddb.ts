/** The floor of a runtime whose store is IndexedDB: open a database and read one value. */

import { visit } from './visit.ts';

const opened = new Promise<IDBDatabase>((resolve, reject) => {
  const opening = indexedDB.open('bare');
  opening.onupgradeneeded = () => opening.result.createObjectStore('bare');
  opening.onsuccess = () => resolve(opening.result);
  opening.onerror = () => reject(opening.error);
});

const read = async (): Promise<string | undefined> => {
  const database = await opened;
  return new Promise((resolve, reject) => {
    const reading = database.transaction('bare').objectStore('bare').get('bare');
    reading.onsuccess = () => resolve(reading.result?.token);
    reading.onerror = () => reject(reading.error);
  });
};

visit({
  signIn: async () => {
    const database = await opened;
    await new Promise<void>((resolve) => {
      const writing = database.transaction('bare', 'readwrite');
      writing.objectStore('bare').put({ token: 'x'.repeat(1000) }, 'bare');
      writing.oncomplete = () => resolve();
    });
  },
  open: read,
  ask: read,
});
