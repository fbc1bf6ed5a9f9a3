package relational

import (
	"errors"
	"regexp"

	"github.com/perdure/perdure/provider"
)

// Row is the current row of a statement. A column that cannot be read reads as zero, and the statement then fails with
// its fault.
type Row interface {
	Int(column int) int64
	Bool(column int) bool
	Text(column int) string
	Blob(column int) []byte        // nil for null
	UUID(column int) provider.UUID // zero for null
	// VerifiedBlob is Blob for user data. A store that keeps checksums finds the one of the data in the next column.
	VerifiedBlob(column int) []byte
	// NotNull makes null a fault.
	NotNull(column int)
	// Fault returns why the row cannot be read, and forgets it.
	Fault() error
}

// ErrRow marks a stored row that cannot be read.
var ErrRow = errors.New("unreadable row")

// ErrStop ends a statement before its last row.
var ErrStop = errors.New("enough rows")

// Query is a statement as [Variant] takes it.
type Query struct {
	SQL    string
	Args   []any
	Each   func(Row) error // called for each row; it runs no statement
	Writes bool            // the rows are those that the statement changed
}

// Queryer runs statements.
type Queryer interface {
	// Query runs statements one after the other. A store on a server sends all of them in one round trip.
	Query(list ...Query) error
}

// Statements that the stores share are written for Postgres, in the schema perdure. Where SQLite needs another text, both
// are given, as {of Postgres|of SQLite}. Neither has a bar or a brace.
const (
	// Clock is the clock of Postgres.
	Clock = `(extract(epoch FROM clock_timestamp()) * 1000000)::bigint`
	// sqlNow is the storage's time.
	sqlNow = `{` + Clock + `|@now}`
	// sqlElapsed is the same instant on the lease clock.
	sqlElapsed = `{` + Clock + `|@elapsed}`
)

// either matches both texts of a place where they differ.
var either = regexp.MustCompile(`\{([^{|}]*)\|([^{|}]*)\}`)

// Variant returns the text of a statement for Postgres or for SQLite.
func Variant(text string, sqlite bool) string {
	if sqlite {
		return either.ReplaceAllString(text, "$2")
	}
	return either.ReplaceAllString(text, "$1")
}
