import { createSession } from 'tessera-id';

/**
 * Your server, whose `tokenHandler` lists the origins of the app: `origins: ['capacitor://localhost', 'https://localhost']`. It also
 * answers `OPTIONS`, because of the header.
 */
const SERVER = import.meta.env.VITE_SERVER ?? 'http://127.0.0.1:3000';

const session = createSession({
  baseUrl: import.meta.env.VITE_TESSERA_BASE_URL ?? 'http://127.0.0.1:8080',
  provide: async ({ signal }) => {
    // Not a cookie: for a page in an app, it is a cookie of another site, which iOS does not send.
    const authorization = `Bearer ${localStorage.getItem('login') ?? ''}`;
    const response = await fetch(`${SERVER}/token`, { method: 'POST', headers: { authorization }, signal });
    return response.status === 200 ? response.json() : response; // 204: nobody is signed in
  },
});

const show = () => {
  const { phase, next } = session.state;
  document.querySelector('#state')!.textContent = `${phase}, next: ${next?.action} (${next?.reason})`;
};
session.subscribe(show);
show();
document.querySelector('#log-out')!.addEventListener('click', () => {
  localStorage.removeItem('login');
  void session.clear();
});
