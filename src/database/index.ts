/** One SQL dialect, PostgreSQL's, on two engines. This file needs no Node module, so the operator also runs without Node. */

export { durableTransaction } from './durable-transaction.ts';
export { locationKind } from './location.ts';
export { assertMigrated, type Migrations, migrate } from './migrations.ts';
export { createOperationTracker, type OperationTracker } from './operation-tracker.ts';
export type { Database, Queries, Row, Subscription, Value } from './types.ts';
