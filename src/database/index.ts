/** One SQL dialect, PostgreSQL's, on two engines: PGlite in a folder, PostgreSQL by URL. */

export type { Database, Queries, Row, Value } from './contract.ts';
export { type DatabaseOptions, openDatabase } from './database.ts';
export { type Migrations, migrate } from './migrations.ts';
