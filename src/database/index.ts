/**
 * One SQL dialect, PostgreSQL's, on two engines: PGlite in a folder, PostgreSQL by URL.
 *
 * This file needs no Node module, so the operator compiles and runs without Node. `database.ts` opens the engines.
 */

export { durableTransaction } from './durable-transaction.ts';
export { locationKind } from './location.ts';
export { assertMigrated, type Migrations, migrate } from './migrations.ts';
export { createOperationTracker, type OperationTracker } from './operation-tracker.ts';
export type { Database, Queries, Row, Subscription, Value } from './types.ts';
