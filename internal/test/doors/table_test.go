package doors_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/provider"
)

// A kind is a sentinel under the name that callers of a door use.
type kind struct {
	name string
	err  error
}

// panics marks a row whose call must panic with a text that says what to do.
var panics = kind{name: "panic"}

// A row is one bad input. The test compares its error literally.
type row struct {
	input string
	try   func(ctx context.Context) error
	is    kind
	want  string
	do    string // "" if the error says everything
}

// A section is the table of one door.
type section struct {
	title string
	intro string
	rows  func(t *testing.T, store *world) []row
}

// patience is the longest time that a door may take to refuse something.
const patience = 10 * time.Second

var errHangs = errors.New("the door hangs")

// attempt runs a row. If the row expects a panic, the panic is its error. Go's own panics fail the test, because they
// tell a caller nothing.
func attempt(t *testing.T, r row) (err error) {
	t.Helper()
	defer func() {
		switch p := recover().(type) {
		case nil:
		case runtime.Error:
			t.Errorf("panics without a message of its own: %v", p)
		default:
			if r.is != panics {
				t.Errorf("panics with %v", p)
			}
			err = fmt.Errorf("%v", p)
		}
	}()
	ctx, cancel := context.WithTimeoutCause(t.Context(), patience, errHangs)
	defer cancel()
	return r.try(ctx)
}

// check compares the error of a row with the expected one.
func check(t *testing.T, r row, err error) {
	t.Helper()
	if err == nil {
		t.Fatal("is let in")
	}
	if r.is != panics && !errors.Is(err, r.is.err) {
		t.Errorf("is not %s: %v", r.is.name, err)
	}
	if got := steady(err.Error()); got != r.want {
		t.Errorf("got\n\t%s\nwant\n\t%s", got, r.want)
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("the error has several lines: %q", err)
	}
}

// state returns all instances as a client sees them.
func state(t *testing.T, store provider.Provider) []provider.Instance {
	t.Helper()
	res, err := provider.FullOf(store).List(t.Context(), provider.ListRequest{Filter: provider.Filter{Replaced: true}, Max: provider.MaxPage})
	if err != nil {
		t.Fatal(err)
	}
	return res.Instances
}

// Each door refuses each bad input with the text in its table and stores nothing of it. The pages of the documentation equal the tables.
func TestDoors(t *testing.T) {
	longtest.Skip(t)
	for _, p := range pages() {
		t.Run(p.title, func(t *testing.T) {
			var text strings.Builder
			text.WriteString(p.head())
			complete := true
			for _, s := range p.sections {
				complete = s.check(t, &text) && complete
			}
			if complete { // the flag -run may have selected some
				checkPage(t, p.file, text.String())
			}
		})
	}
}

// The page of all errors has the catalogue, and a list of the other pages.
func TestPageOfErrors(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString(introduction)
	for _, g := range catalogue() {
		g.write(&text)
	}
	text.WriteString(index())
	checkPage(t, "errors.md", text.String())
}

// check tries each row of the section, and writes its table. It reports whether it ran.
func (s section) check(t *testing.T, text *strings.Builder) (ran bool) {
	t.Helper()
	t.Run(s.title, func(t *testing.T) {
		ran = true
		w := newWorld(t)
		rows := s.rows(t, w)
		s.write(text, rows)
		before := state(t, w)
		for _, r := range rows {
			t.Run(r.input, func(t *testing.T) {
				check(t, r, attempt(t, r))
				if diff := cmp.Diff(before, state(t, w)); diff != "" {
					t.Errorf("has left a trace in the store:\n%s", diff)
				}
			})
		}
	})
	return ran
}
