/// <reference types="node" />
/** The command `init`: writes the two files of the first guide, docs/start/script-tag.md, which shows the same text. */

import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Command } from 'commander';
import { parsePort } from './demo.ts';
import { shownPath, unwritable } from './input/paths.ts';
import type { Io } from './io.ts';

const IMPORTS = `import { createClient, tokenHandler } from 'tessera-id/server';
import { toNodeListener } from 'tessera-id/server/node';

const { TESSERA_BASE_URL, TESSERA_API_KEY, TESSERA_CLIENT_SECRET } = process.env;

const tokens = tokenHandler({
  client: createClient({ baseUrl: TESSERA_BASE_URL, apiKey: TESSERA_API_KEY, clientSecret: TESSERA_CLIENT_SECRET }),
  // Who is signed in; null: nobody. Read it from your own login session, never from the body or the URL.
  user: () => ({ email: 'user@example.com' }),
  onError: (error) => console.error('token', error), // the page gets only a status code
});
`;

const PLAIN = `// server.mjs
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
${IMPORTS}
const files = {
  '/': ['text/html', await readFile('index.html')],
  '/tessera.dev.js': ['text/javascript', await readFile('node_modules/tessera-id/dist/tessera.dev.js')],
  '/tessera.js': ['text/javascript', await readFile('node_modules/tessera-id/dist/tessera.js')],
};

const token = toNodeListener(tokens);

createServer((request, response) => {
  if (request.url === '/token') return token(request, response);
  const [type, body] = files[request.url] ?? ['text/html', ''];
  response.writeHead(files[request.url] ? 200 : 404, { 'content-type': type }).end(body);
}).listen(3000, '127.0.0.1', () => console.log('http://127.0.0.1:3000'));
`;

const EXPRESS = `// server.mjs, with Express
import express from 'express';
${IMPORTS}
const app = express();
app.use('/token', toNodeListener(tokens)); // before anything that parses bodies
app.use(express.static('node_modules/tessera-id/dist')); // /tessera.dev.js, /tessera.js
app.get('/', (_request, response) => response.sendFile('index.html', { root: '.' }));
app.listen(3000, '127.0.0.1', () => console.log('http://127.0.0.1:3000'));
`;

const PAGE = `<!-- index.html -->
<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <title>My page</title>
    <link rel="icon" href="data:," />
    <script async src="/tessera.dev.js" data-base-url="http://127.0.0.1:8080" data-provide="/token"></script>
    <script>
      (window.tessera = window.tessera || []).push((t) => {
        t.session.on('token', ({ advertisingToken }) => console.log('new token:', advertisingToken.length, 'characters'));
      });
    </script>
  </head>
  <body></body>
</html>
`;

/** @throws {RangeError} if one of the files exists, and if one cannot be written. */
async function writeNew(files: Readonly<Record<string, string>>): Promise<void> {
  for (const path of Object.keys(files))
    if (existsSync(path)) throw new RangeError(`init: expected no ${shownPath(path)}, got one; nothing was written`);
  // `wx` fails if the file exists by now.
  for (const [path, text] of Object.entries(files))
    await writeFile(path, text, { flag: 'wx' }).catch((error) => {
      throw unwritable(path, error, 'init');
    });
}

export function initCommand({ out }: Io): Command {
  return new Command('init')
    .description('write server.mjs and index.html of the first guide; overwrites nothing')
    .argument('[folder]', 'an existing folder', '.')
    .option('--express', 'a server with Express instead of plain Node')
    .option('--port <port>', 'port of the server', parsePort, 3000)
    .action(async (folder: string, { express, port }: { readonly express?: boolean; readonly port: number }) => {
      const server = join(folder, 'server.mjs');
      const page = join(folder, 'index.html');
      await writeNew({ [server]: (express ? EXPRESS : PLAIN).replaceAll('3000', `${port}`), [page]: PAGE });
      out(`wrote ${shownPath(server)} and ${shownPath(page)}; next, in two terminals of that folder:`);
      out(`  ${express ? 'npm install express && ' : ''}npx tessera-id operator --env tessera.env`);
      out('  node --env-file=tessera.env server.mjs');
    });
}
