package relational

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/provider"
)

// rule is a call of a rule with a request. It returns what matters of the result.
type rule func(*Tx) (string, error)

// ruleCase is one case of a rule. To add one, find the table of its family: allCases lists them.
type ruleCase struct {
	name    string
	given   func(*fakeRows) // in addition to the running instance i
	call    rule
	err     error    // the sentinel of a refusal
	writes  []string // what it writes, heads last; of a refused call, what it has tried to write
	result  string   // "": any
	effects string   // what others learn; "": whatever it is
	instead []string // what it writes to rows with the optional interfaces; nil: the same
	modes   []bool   // whether the rows have the optional interfaces

	// A refused call has written nothing, with two exceptions.
	guarded []string // the writes that are themselves the check
	reason  string   // why the check comes after other writes
}

// does is the case of a call that succeeds.
func does(name string, given func(*fakeRows), call rule, writes ...string) ruleCase {
	return ruleCase{name: name, given: given, call: call, writes: writes, modes: []bool{false, true}}
}

// refuses is the case of a call that returns an error.
func refuses(name string, given func(*fakeRows), call rule, err error, tried ...string) ruleCase {
	c := does(name, given, call, tried...)
	c.err = err
	return c
}

func (c ruleCase) returns(result string) ruleCase      { c.result = result; return c }
func (c ruleCase) tells(effects string) ruleCase       { c.effects = effects; return c }
func (c ruleCase) fast(writes ...string) ruleCase      { c.instead = writes; return c }
func (c ruleCase) onlyFast() ruleCase                  { c.modes = []bool{true}; return c }
func (c ruleCase) onlyPlain() ruleCase                 { c.modes = []bool{false}; return c }
func (c ruleCase) guardedBy(writes ...string) ruleCase { c.guarded = writes; return c }
func (c ruleCase) late(reason string) ruleCase         { c.reason = reason; return c }

// allCases returns the tables of all families.
func allCases() map[string][]ruleCase {
	return map[string][]ruleCase{
		"commit": commitCases(), "closing": closingCases(), "commit tasks": commitTaskCases(), "sends": sendingCases(),
		"create": createCases(), "first turn": firstTurnCases(),
		"steer": steerCases(), "reset": resetCases(), "report": reportCases(), "renew": renewCases(), "steer task": steerTaskCases(),
		"inbox": inboxCases(), "release": releaseCases(), "seal": sealCases(), "import": importCases(),
	}
}

// eachCase runs fn for each case on each kind of rows.
func eachCase(t *testing.T, fn func(t *testing.T, c ruleCase, fast bool)) {
	all := allCases()
	for _, family := range slices.Sorted(maps.Keys(all)) {
		for _, c := range all[family] {
			for _, fast := range c.modes {
				t.Run(fmt.Sprintf("%s/%s/fast=%t", family, c.name, fast), func(t *testing.T) { fn(t, c, fast) })
			}
		}
	}
}

// world is rows with the transaction that rules run in.
type world struct {
	*fakeRows
	tx *Tx
}

// world returns the rows of a case.
func (c ruleCase) world(fast bool) *world {
	r := newFakeRows()
	if c.given != nil {
		c.given(r)
	}
	w := &world{r, &Tx{Rows: r, Now: theTime, Elapsed: theElapsed, Heads: make(map[provider.UUID]*Head), Effects: NewEffects()}}
	if fast {
		w.tx.Rows = fastRows{r}
	}
	return w
}

// member runs a call as a member of a group. The unknown-th answer is not known, or the write fails; 0: none. A member that fails is
// undone, as a store does it.
func (w *world) member(call rule, unknown int) (string, error) {
	before, outer := w.state.clone(), w.tx.Effects
	w.asked, w.unknown, w.tx.Effects = nil, unknown, NewEffects()
	w.tx.Begin()
	res, err := call(w.tx)
	mine := w.tx.Effects
	w.unknown, w.tx.Effects = 0, outer
	if err != nil {
		w.tx.Undo()
		w.state = before
		return "", err
	}
	w.tx.Effects.Merge(&mine)
	return res, nil
}

// flush writes the heads.
func (w *world) flush(t *testing.T) {
	t.Helper()
	if err := w.tx.Flush(); err != nil {
		t.Errorf("flush: %v", err)
	}
}

// first is a member before the one of the case. It changes what no rule looks at.
func first(t *Tx) (string, error) {
	h, err := t.Head(u("i"))
	if err != nil || h == nil {
		return "", err
	}
	h.StickyUntil = 77
	t.touch(h)
	return "", t.Rows.SetValue(h.Key, provider.KeyValue{Key: "first", Value: []byte("yes")})
}

// behindFirst returns the rows of a case after the first member.
func (c ruleCase) behindFirst(t *testing.T, fast bool) *world {
	t.Helper()
	w := c.world(fast)
	if _, err := w.member(first, 0); err != nil {
		t.Fatal(err)
	}
	return w
}

// heads are what a transaction holds in memory.
type heads struct {
	of             map[provider.UUID]Head
	dirty, touched []provider.UUID
}

func (w *world) heads() heads {
	s := heads{of: make(map[provider.UUID]Head), touched: slices.Clone(w.tx.Touched)}
	for key, h := range w.tx.Heads {
		s.of[key] = *h
	}
	for _, h := range w.tx.dirty {
		if h.dirty && !slices.Contains(s.dirty, h.Key) {
			s.dirty = append(s.dirty, h.Key)
		}
	}
	return s
}

// unchanged fails unless the transaction holds what it held before, or what is stored.
func (w *world) unchanged(t *testing.T, before heads) {
	t.Helper()
	is := w.heads()
	for key, h := range is.of {
		was, known := before.of[key]
		if !known {
			was = w.state.heads[key]
		}
		if h != was {
			t.Errorf("head %s:%s", named(key), w.changed(was, h))
		}
	}
	for key := range before.of {
		if _, kept := is.of[key]; !kept {
			t.Errorf("head %s is gone", named(key))
		}
	}
	if !slices.Equal(is.dirty, before.dirty) || !slices.Equal(is.touched, before.touched) {
		t.Errorf("changed heads %v, touched %v, want %v and %v", is.dirty, is.touched, before.dirty, before.touched)
	}
}

// learned lists what others learn of the transaction.
func (w *world) learned() string {
	fx, none := &w.tx.Effects, NewEffects()
	var out []string
	kinds := func(what string, set map[int64]struct{}, turn bool) {
		for _, id := range slices.Sorted(maps.Keys(set)) {
			out = append(out, what+" "+w.kindName(id, turn))
		}
	}
	kinds("turns", fx.Turns, true)
	kinds("tasks", fx.Tasks, false)
	kinds("freed", fx.Freed, false)
	add := func(is bool, format string, args ...any) {
		if is {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	add(fx.Expired, "expired")
	add(fx.Due != none.Due, "due %d", fx.Due)
	add(fx.ElapsedDue != none.ElapsedDue, "lease %d", fx.ElapsedDue)
	for _, key := range fx.Changed {
		add(true, "changed %s", named(key))
	}
	for _, n := range fx.Notices {
		add(true, "notice %s/%d/%d", named(n.Key), n.Execution, n.EventID)
	}
	for _, v := range fx.Values {
		add(true, "value %s.%s", named(v.Key), v.Name)
	}
	add(fx.Dropped > 0, "dropped %d", fx.Dropped)
	add(fx.Commits > 0, "commits %d", fx.Commits)
	return strings.Join(out, ", ")
}

// consistent fails unless heads are as they are stored and sum up their inboxes, and an end has left nothing.
func (w *world) consistent(t *testing.T, before *state) {
	t.Helper()
	for key, h := range w.tx.Heads {
		if row := w.state.heads[key]; stored(h) != row {
			t.Errorf("head %s is not as stored:%s", named(key), w.changed(row, *h))
		}
	}
	for key, h := range w.state.heads {
		count, bytes := w.size(key)
		hadCount, hadBytes := before.size(key)
		had, known := before.heads[key]
		if known && h.Inbox > 0 { // a full inbox is made up
			count, bytes = count+had.Inbox-hadCount, bytes+had.InboxBytes-hadBytes
		}
		if h.Inbox != count || h.InboxBytes != bytes {
			t.Errorf("%s has an inbox of %d messages, %d bytes, and a head that says %d, %d", named(key), count, bytes, h.Inbox, h.InboxBytes)
		}
		for i, m := range w.waiting(key) {
			if m.ID >= h.NextMessage || i == 0 && (h.ReadyAt == 0 || h.ReadyAt > m.VisibleAt) {
				t.Errorf("%s has message %d at %d, and a head with the next %d, ready at %d", named(key), m.ID, m.VisibleAt, h.NextMessage, h.ReadyAt)
			}
		}
		left := w.pending(func(task *Task) bool { return task.Key == key && task.Execution == h.Execution })
		if h.Status.Ended() && !had.Status.Ended() && (count > 0 || h.ReadyAt != 0 || len(left) > 0) {
			t.Errorf("%s has ended with %d messages, %d tasks, ready at %d", named(key), count, len(left), h.ReadyAt)
		}
	}
	if w.tx.Changes == 0 && slices.ContainsFunc(w.writes, func(write string) bool { return !strings.HasSuffix(write, ": no") }) {
		t.Error("the transaction does not know that it has changed something: a store would not commit it")
	}
}

// TestRules plays all tables: what each call returns and writes.
func TestRules(t *testing.T) {
	eachCase(t, func(t *testing.T, c ruleCase, fast bool) {
		w := c.world(fast)
		before := w.state.clone()
		res, err := w.member(c.call, 0)
		if c.err == nil && err != nil || !errors.Is(err, c.err) {
			t.Fatalf("got error %v, want %v", err, c.err)
		}
		if err == nil {
			w.flush(t)
			w.consistent(t, &before)
		}
		if c.result != "" && res != c.result {
			t.Errorf("returned %q, want %q", res, c.result)
		}
		want := c.writes
		if fast && c.instead != nil {
			want = c.instead
		}
		if !slices.Equal(w.writes, want) {
			t.Errorf("wrote\n\t%s\nwant\n\t%s", strings.Join(w.writes, "\n\t"), strings.Join(want, "\n\t"))
		}
		if c.effects != "" && w.learned() != c.effects {
			t.Errorf("others learn %q, want %q", w.learned(), c.effects)
		}
	})
}

// The optional interfaces only save statements.
func TestOptionalInterfacesStoreTheSame(t *testing.T) {
	eachCase(t, func(t *testing.T, c ruleCase, fast bool) {
		if len(c.modes) == 1 || fast {
			return
		}
		plain, other := c.world(false), c.world(true)
		for _, w := range []*world{plain, other} {
			if _, err := w.member(c.call, 0); err == nil {
				w.flush(t)
			}
		}
		if !reflect.DeepEqual(plain.state, other.state) {
			t.Errorf("stored\n\t%+v\nwithout them\n\t%+v", other.state, plain.state)
		}
	})
}

// A call checks before it writes. So a store needs no savepoint for a call that is refused. A refusal that comes after a change
// shows in Tx.Changes.
func TestHazard96_ChecksComeBeforeWrites(t *testing.T) {
	eachCase(t, func(t *testing.T, c ruleCase, fast bool) {
		w := c.world(fast)
		if _, err := c.call(w.tx); err == nil {
			return
		}
		wrote := len(w.tx.dirty)
		for _, write := range w.writes {
			name, _, _ := strings.Cut(write, " ")
			if !slices.Contains(c.guarded, name) && c.reason == "" {
				t.Errorf("it is refused after %s", write)
			}
			if !strings.HasSuffix(write, ": no") {
				wrote++
			}
		}
		switch {
		case wrote == 0 && c.reason != "":
			t.Errorf("it is refused in time: remove %q", c.reason)
		case wrote == 0:
			w.unchanged(t, heads{})
		case w.tx.Changes == 0:
			t.Error("a store would keep what the refused call has changed")
		}
		if len(c.guarded) > 0 && len(w.writes) == 0 {
			t.Errorf("it is refused without %v: remove them", c.guarded)
		}
	})
}

// A refused member leaves what the members before it have changed, and nothing else.
func TestHazard96_RefusedMemberLeavesNothing(t *testing.T) {
	eachCase(t, func(t *testing.T, c ruleCase, fast bool) {
		alone := c.behindFirst(t, fast)
		w := c.behindFirst(t, fast)
		before, writes := w.heads(), slices.Clone(w.writes)
		if _, err := w.member(c.call, 0); err == nil {
			return
		}
		w.unchanged(t, before)
		w.writes = writes
		w.flush(t)
		alone.flush(t)
		if !slices.Equal(w.writes, alone.writes) || !reflect.DeepEqual(w.state, alone.state) {
			t.Errorf("wrote\n\t%s\nwithout the refused call\n\t%s", strings.Join(w.writes, "\n\t"), strings.Join(alone.writes, "\n\t"))
		}
	})
}

// An answer that a store does not know yet ends the call, and so does a write that fails. Tried again, the call does what it would have
// done at first.
func TestHazard97_UnknownEndsTheCall(t *testing.T) {
	eachCase(t, func(t *testing.T, c ruleCase, fast bool) {
		clean := c.behindFirst(t, fast)
		res, refused := clean.member(c.call, 0)
		asked := clean.asked
		clean.flush(t)
		for n, what := range asked {
			w := c.behindFirst(t, fast)
			before, writes := w.heads(), slices.Clone(w.writes)
			if _, err := w.member(c.call, n+1); !errors.Is(err, errUnknown) {
				t.Errorf("without %q: got error %v", what, err)
				continue
			}
			w.unchanged(t, before)
			w.writes = writes
			again, err := w.member(c.call, 0)
			w.flush(t)
			if again != res || fmt.Sprint(err) != fmt.Sprint(refused) || w.learned() != clean.learned() {
				t.Errorf("with %q again: returned %q, %v, want %q, %v", what, again, err, res, refused)
			}
			if !slices.Equal(w.writes, clean.writes) || !reflect.DeepEqual(w.state, clean.state) {
				t.Errorf("with %q again: wrote\n\t%s\nwant\n\t%s", what, strings.Join(w.writes, "\n\t"), strings.Join(clean.writes, "\n\t"))
			}
		}
	})
}
