package postgres

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/perdure/perdure/provider"
)

// A server that ends the connection may have committed before. Its reason shows nothing of that, and poolers give any
// reason.
func TestOutcomesOfErrors(t *testing.T) {
	for _, c := range []struct {
		severity, code string
		want           provider.Outcome
	}{
		{"ERROR", "23505", provider.OutcomeNothing},
		{"ERROR", "40001", provider.OutcomeNothing},
		{"ERROR", "40003", provider.OutcomeUnknown},
		{"ERROR", "53100", provider.OutcomeNothing},
		{"FATAL", "57P01", provider.OutcomeUnknown},
		{"FATAL", "08P01", provider.OutcomeUnknown},
		{"FATAL", "58000", provider.OutcomeUnknown}, // a pooler whose server is gone
		{"FATAL", "25P04", provider.OutcomeUnknown}, // a timeout of a transaction that came with its end
		{"PANIC", "XX000", provider.OutcomeUnknown},
	} {
		err := fmt.Errorf("commit: %w", &pgconn.PgError{Severity: "any language", SeverityUnlocalized: c.severity, Code: c.code})
		if got := outcomeOf(err); got != c.want {
			t.Errorf("%s %s: %v, want %v", c.severity, c.code, got, c.want)
		}
		refused := &pgconn.ConnectError{}
		if got := outcomeOf(fmt.Errorf("%w: %w", refused, err)); got != provider.OutcomeNothing {
			t.Errorf("%s %s while connecting: %v", c.severity, c.code, got)
		}
	}
}

// Statements whose columns changed are prepared anew on another connection, so a retry helps.
func TestChangedColumnsAreNotPermanent(t *testing.T) {
	for routine, want := range map[string]bool{"RevalidateCachedQuery": false, "transformLockingClause": true} {
		if got := permanent(&pgconn.PgError{Code: stateOldPlan, Routine: routine}); got != want {
			t.Errorf("%s: %v", routine, got)
		}
	}
}
