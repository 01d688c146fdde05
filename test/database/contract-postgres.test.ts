import { runContract } from './contract.ts';

runContract('postgres');
