package sqlite

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure/internal/testkit/raced"
	"github.com/perdure/perdure/provider"
)

// playRaced makes the call that a line names: the number of the scene and the name of the call.
func playRaced(ctx context.Context, p *Provider, line string) (heard string, err error) {
	number, name, _ := strings.Cut(line, " ")
	scene, err := strconv.Atoi(number)
	if err != nil {
		return "", err
	}
	call, ok := raced.Named(name)
	if !ok {
		return "", fmt.Errorf("no call %q", name)
	}
	return strconv.Quote(call.Do(ctx, provider.FullOf(p), raced.Scene(scene))), nil
}

// stage has a store with all that its process has cached, and another process on its file.
type stage struct {
	t         *testing.T
	p         *Provider
	file      *sql.DB // a third connection, which checks and empties the tables
	orders    io.Writer
	heard     *bufio.Scanner
	last      raced.Scene
	sequences map[string]ending
}

// ending is what callers heard, and all rows.
type ending struct {
	Heard [2]string
	Rows  []string
}

func newStage(t *testing.T, p *Provider) *stage {
	t.Helper()
	s := &stage{t: t, p: p, sequences: make(map[string]ending)}
	var err error
	if s.file, err = sql.Open("sqlite", "file:"+p.store.path+"?_txlock=immediate&_pragma=busy_timeout(60000)&_pragma=synchronous(off)"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.file.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// another starts the other process.
func (s *stage) another() {
	s.t.Helper()
	cmd, orders, heard := startChild(s.t, "raced", s.p.store.path)
	s.orders, s.heard = orders, heard
	s.t.Cleanup(func() {
		if err := orders.Close(); err != nil {
			s.t.Error(err)
		}
		_ = cmd.Wait() // the end of the test may have killed it before
	})
	s.line() // it is ready
}

func (s *stage) line() string {
	s.t.Helper()
	if !s.heard.Scan() {
		s.t.Fatal("the other process has ended")
	}
	text := s.heard.Text()
	return text[:strings.LastIndexByte(text, ' ')] // a number follows
}

// elsewhere makes a call in the other process.
func (s *stage) elsewhere(scene raced.Scene, call raced.Call) string {
	s.t.Helper()
	if _, err := fmt.Fprintln(s.orders, int(scene), call.Name); err != nil {
		s.t.Fatal(err)
	}
	text, err := strconv.Unquote(s.line())
	if err != nil {
		s.t.Fatal(err)
	}
	return text
}

// scene makes a scene in an empty store. This process knows all of it then.
func (s *stage) scene(state raced.State) (raced.Scene, provider.Time) {
	s.t.Helper()
	tx, err := s.file.BeginTx(s.t.Context(), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, table := range []string{
		"instance", "outcome", "execution", "history", "inbox", "task", "session", "attribute", "value", "request", "listener", "seal", "dead_letter",
	} {
		if _, err := tx.ExecContext(s.t.Context(), `DELETE FROM perdure_`+table); err != nil {
			s.t.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		s.t.Fatal(err)
	}
	s.last++
	began, err := s.last.Build(s.t.Context(), provider.FullOf(s.p), state)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.last, began
}

// forget makes the writer forget all that it has cached of the file.
func (s *stage) forget() {
	w := s.p.store.writer
	w.lock.Lock()
	defer w.lock.Unlock()
	w.committer.forget()
	w.tx.schedule.stale, w.others.changed = true, true
}

// sequence returns the ending after calls of a process that has cached nothing.
func (s *stage) sequence(state raced.State, calls ...raced.Call) ending {
	s.t.Helper()
	name := state.String()
	for _, c := range calls {
		name += ", " + c.Name
	}
	if e, ok := s.sequences[name]; ok {
		return e
	}
	scene, began := s.scene(state)
	var e ending
	for i, c := range calls {
		s.forget()
		e.Heard[i] = c.Do(s.t.Context(), provider.FullOf(s.p), scene)
	}
	e.Rows = scene.Plain(s.rows(), began)
	s.sequences[name] = e
	return e
}

// rows returns all rows that calls write.
func (s *stage) rows() (list []string) {
	s.t.Helper()
	for table, from := range map[string]string{
		"instance": `k.name, k.code_version, k.engine_level, x.* FROM perdure_instance x LEFT JOIN perdure_kind k ON k.id = x.kind`,
		"task":     `k.queue, k.name, k.priority, x.* FROM perdure_task x LEFT JOIN perdure_task_kind k ON k.id = x.kind`,
		"outcome":  "", "execution": "", "history": "", "inbox": "", "session": "", "attribute": "", "value": "", "request": "", "listener": "", "seal": "", "dead_letter": "",
	} {
		if from == "" {
			from = `* FROM perdure_` + table
		}
		rows, err := s.file.QueryContext(s.t.Context(), `SELECT `+from) //nolint:sqlclosecheck // the loop reads all, which closes them
		if err != nil {
			s.t.Fatal(err)
		}
		columns, err := rows.Columns()
		if err != nil {
			s.t.Fatal(err)
		}
		for rows.Next() {
			list = append(list, s.text(rows, table, columns))
		}
		if err := rows.Err(); err != nil {
			s.t.Fatal(err)
		}
	}
	return list
}

// text returns a row as text. It leaves out numbers that the store gives and checksums.
func (s *stage) text(rows *sql.Rows, table string, columns []string) string {
	s.t.Helper()
	values, to := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		to[i] = &values[i]
	}
	if err := rows.Scan(to...); err != nil {
		s.t.Fatal(err)
	}
	text := table
	for i, column := range columns {
		switch v := values[i].(type) {
		case []byte:
			values[i] = hex.EncodeToString(v)
			if len(v) != len(provider.UUID{}) {
				values[i] = "x" + hex.EncodeToString(v)
			}
		case int64:
			switch {
			case strings.HasSuffix(column, "_until") && v > 0: // on the lease clock
				values[i] = fmt.Sprintf("in %d min", time.Duration(v-s.p.store.clock.elapsed())*time.Microsecond/time.Minute+1)
			case column == "kind" && (table == "instance" || table == "task"), column == "sum", column == "id" && table == "dead_letter":
				continue
			}
		}
		text += fmt.Sprintf(" %s=%v", column, values[i])
	}
	return text
}

// Whatever another process changes between two transactions of this one, this one goes by what is stored.
func TestHazard98_ChangesOfAnotherProcess(t *testing.T) {
	t.Parallel()
	s := newStage(t, openTest(t, filepath.Join(t.TempDir(), "store.db"), Options{Synchronous: Off}))
	s.another()
	all, mine := raced.Calls(), raced.Share(t, 6)
	check := func(state raced.State, call, act raced.Call) {
		t.Helper()
		want := s.sequence(state, act, call)
		scene, began := s.scene(state)
		var got ending
		got.Heard[0] = s.elsewhere(scene, act)
		got.Heard[1] = call.Do(t.Context(), provider.FullOf(s.p), scene)
		if got.Rows = scene.Plain(s.rows(), began); got.Heard != want.Heard || !slices.Equal(got.Rows, want.Rows) {
			t.Errorf("%s: %q in another process, and then %q (-cached nothing +cached):\n%s", state, act.Name, call.Name, cmp.Diff(want, got))
		}
	}
	fetch, _ := raced.Named("fetch of turns")
	for _, name := range []string{"next execution", "message of a level", "move"} { // of kinds that this process does not know
		act, _ := raced.Named(name)
		check(raced.Ready, fetch, act)
	}
	for i, call := range all {
		if testing.Short() {
			if i%5 == 0 {
				check(raced.State(i%2), call, all[(7*i+11)%len(all)])
			}
			continue
		}
		for j, act := range all {
			if mine(i, j) {
				check(raced.States()[(i+j)%len(raced.States())], call, act)
			}
		}
	}
}
