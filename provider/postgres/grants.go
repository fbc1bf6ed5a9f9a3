package postgres

import "github.com/jackc/pgx/v5"

// Grants answers the statements that give role the rights to run a store whose tables another role made: to read and change
// rows, to create nothing. The owner runs them after each migration. With them a store opens
// with [Options].NoMigrate, or without while no migration is missing.
func Grants(schema, role string) []string {
	if schema == "" {
		schema = defaultSchema
	}
	in, to := pgx.Identifier{schema}.Sanitize(), pgx.Identifier{role}.Sanitize()
	return []string{
		"GRANT USAGE ON SCHEMA " + in + " TO " + to,
		"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA " + in + " TO " + to,
	}
}
