/**
 * One SQL dialect, PostgreSQL's, on two engines: PGlite in a folder, PostgreSQL by URL.
 *
 * This file needs no module of Node, so that the operator compiles and runs without it. What opens the engines is `database.ts`.
 */

export { durableTransaction } from './durable-transaction.ts';
export { locationKind } from './location.ts';
export { assertMigrated, type Migrations, migrate } from './migrations.ts';
export { createOperationTracker, type OperationTracker } from './operation-tracker.ts';
export type { Database, Queries, Row, Subscription, Value } from './types.ts';
