package kit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/perdure/perdure/provider"
)

// Scan calls each with every stored row of a kind, in any order, until each returns false. One scan reads one state of the store.
// What each gets stays as it is after each has returned. A scan of a closed store returns [provider.ErrClosed].
type Scan[Row any] func(ctx context.Context, each func(row Row) (more bool)) error

// InstanceRow is a stored instance, with what provider.Instance does not show. Lists need no more than Replaced
// and Retrying.
type InstanceRow struct {
	provider.Instance

	Replaced  bool              // another instance has its ID, or had it and was deleted
	Retrying  bool              // it has a pending task whose Attempt or Deliveries is above 1
	Lease     provider.LeaseRow // of its turn, even an expired one; Until 0: none. Over is not read.
	NotBefore provider.Time     // end of the delay of a release, even if that has passed
}

// ExecutionRow is an execution that is not the current one of its instance.
type ExecutionRow struct {
	provider.ExecutionRow

	EndedAt provider.Time // when the next one opened
}

// TaskRow is a pending task.
type TaskRow struct {
	provider.TaskRow // Lease.Over is not read

	Queue     string
	Name      string
	Session   string // "" for none
	NotBefore provider.Time
	TimeUp    provider.Time // when it is past its time: at its Deadline, or at its StartBy while it has not begun; 0: never
}

// collect returns the rows that keep wants.
func collect[Row any](ctx context.Context, scan Scan[Row], keep func(*Row) bool) (rows []Row, err error) {
	err = scan(ctx, func(row Row) bool {
		if keep(&row) {
			rows = append(rows, row)
		}
		return true
	})
	return rows, err
}

// admit refuses a call before it reads anything.
func admit(ctx context.Context, req interface{ Validate() error }) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return req.Validate()
}

// A place is where a row stands among others. Its text is a cursor.
type place struct {
	key  provider.UUID
	a, b int64
}

// byKey compares two places in the order of keys.
func (p place) byKey(o place) int {
	return cmp.Or(slices.Compare(p.key[:], o.key[:]), cmp.Compare(p.a, o.a), cmp.Compare(p.b, o.b))
}

// byTime compares two places whose first number is a time, in the order of times.
func (p place) byTime(o place) int { return cmp.Or(cmp.Compare(p.a, o.a), p.byKey(o)) }

func (p place) cursor() string { return fmt.Sprintf("%s/%d/%d", p.key, p.a, p.b) }

// readCursor returns the place after which a call continues. ok is false for a call that begins.
func readCursor(op, cursor string) (p place, ok bool, err error) {
	if cursor == "" {
		return p, false, nil
	}
	parts := strings.Split(cursor+"//", "/")
	for n, to := range []*int64{&p.a, &p.b} {
		if err == nil {
			*to, err = strconv.ParseInt(parts[n+1], 10, 64)
		}
	}
	if err == nil {
		err = p.key.UnmarshalText([]byte(parts[0]))
	}
	if err != nil {
		return p, false, fmt.Errorf("%s: Cursor: %w: use the Cursor of the result before", op, provider.ErrInvalid)
	}
	return p, true, nil
}
