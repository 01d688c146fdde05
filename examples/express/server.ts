import { app } from './app.ts';

app.listen(3000, () => console.log('http://127.0.0.1:3000'));
