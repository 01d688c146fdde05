import { runContract } from './contract.ts';

runContract('pglite');
