/** One SQL dialect, PostgreSQL's, on two engines: PGlite in a folder, PostgreSQL by URL. */
export * from './contract.ts';
export * from './database.ts';
export * from './migrations.ts';
