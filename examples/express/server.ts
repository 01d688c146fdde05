import { app } from './app.ts';

const port = Number(process.env['PORT'] ?? 3000);
app.listen(port, '127.0.0.1', (error) => {
  // Express passes a failure to listen, such as a port in use, only to this function.
  if (error) throw error;
  console.log(`http://127.0.0.1:${port}`);
});
