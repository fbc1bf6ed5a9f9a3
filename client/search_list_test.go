package client_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/provider/postgres"
	"github.com/perdure/perdure/provider/sqlite"
)

// scanning is a store whose lists look at few rows in each call. It stops wherever a store might, and says how far back it has looked unless it is
// silent.
type scanning struct {
	*provider.Full

	rows   func() int // of a call
	silent bool
	before func() // is called before each list
	calls  int
}

// List returns the matches among the next rows in the order of lists.
func (s *scanning) List(ctx context.Context, req provider.ListRequest) (provider.ListResult, error) {
	s.calls++
	s.before()
	match, err := s.Full.List(ctx, provider.ListRequest{Filter: req.Filter})
	if err != nil {
		return match, err
	}
	res, err := s.Full.List(ctx, provider.ListRequest{
		Filter: provider.Filter{CreatedAfter: req.Filter.CreatedAfter, CreatedBefore: req.Filter.CreatedBefore, Replaced: true},
		Cursor: req.Cursor, Max: min(s.rows(), max(req.Max, 1)),
	})
	if err != nil {
		return res, err
	}
	if res.Cursor != "" && !s.silent {
		res.Reached = res.Instances[len(res.Instances)-1].CreatedAt
	}
	res.Instances = slices.DeleteFunc(res.Instances, func(i provider.Instance) bool {
		return !slices.ContainsFunc(match.Instances, func(m provider.Instance) bool { return m.Key == i.Key })
	})
	return res, nil
}

// searched is a store that changes while a search is paged.
type searched struct {
	t       *rapid.T
	c       *client.Client
	store   *scanning
	search  client.Search
	plain   []func(i *provider.Instance) bool // what the branches mean, without any store
	advance func()
	handles []client.Handle[any]
	next    int
	steady  map[provider.UUID]bool // matched at all times since the first page
	ever    map[provider.UUID]bool // matched at some time
}

// look notes what matches now.
func (s *searched) look() {
	now := map[provider.UUID]bool{}
	res, err := s.store.Full.List(context.Background(), provider.ListRequest{Filter: provider.Filter{Replaced: true}})
	if err != nil || res.Cursor != "" {
		s.t.Fatalf("the list of all goes on with %q: %v", res.Cursor, err)
	}
	for i := range res.Instances {
		in := &res.Instances[i]
		now[in.Key] = slices.ContainsFunc(s.plain, func(match func(*provider.Instance) bool) bool { return match(in) })
	}
	maps.DeleteFunc(now, func(_ provider.UUID, matches bool) bool { return !matches })
	if s.ever == nil {
		s.steady, s.ever = maps.Clone(now), map[provider.UUID]bool{}
	}
	maps.DeleteFunc(s.steady, func(key provider.UUID, _ bool) bool { return !now[key] })
	maps.Copy(s.ever, now)
}

func (s *searched) start() {
	s.next++
	name := rapid.SampledFrom([]string{"Order", "Refund"}).Draw(s.t, "name")
	h, err := client.StartNamed[any](s.t.Context(), s.c, name, 1, client.WithID(fmt.Sprintf("%s-%d", rapid.SampledFrom([]string{"a", "b"}).Draw(s.t, "prefix"), s.next)),
		client.WithAttribute("region", rapid.SampledFrom([]string{"eu", "us", "ap"}).Draw(s.t, "region")),
		client.WithAttribute("size", rapid.Int64Range(0, 4).Draw(s.t, "size")))
	if err != nil {
		s.t.Fatal(err)
	}
	s.handles = append(s.handles, h)
	s.advance()
}

// change starts an instance, or changes the status of one.
func (s *searched) change() {
	h := rapid.SampledFrom(s.handles).Draw(s.t, "instance")
	var err error
	switch rapid.IntRange(0, 3).Draw(s.t, "change") {
	case 0:
		s.start()
	case 1:
		err = h.Terminate(s.t.Context(), "")
	case 2:
		err = h.Suspend(s.t.Context(), "")
	case 3:
		err = h.Resume(s.t.Context(), "")
	}
	if err != nil && !errors.Is(err, client.ErrEnded) && !errors.Is(err, client.ErrConflict) {
		s.t.Fatal(err)
	}
}

// branch is a branch of a search and what it means.
type branch struct {
	text  string
	match func(i *provider.Instance) bool
}

func (b branch) String() string { return b.text }

// branches are those of random searches.
func branches() []branch {
	is := func(all ...provider.Status) func(*provider.Instance) bool {
		return func(i *provider.Instance) bool { return slices.Contains(all, i.Status) }
	}
	region := func(all ...string) func(*provider.Instance) bool {
		return func(i *provider.Instance) bool {
			return slices.ContainsFunc(i.Attributes, func(a provider.Attribute) bool { return a.Name == "region" && slices.Contains(all, a.Text) })
		}
	}
	size := func(from, to int64) func(*provider.Instance) bool {
		return func(i *provider.Instance) bool {
			return slices.ContainsFunc(i.Attributes, func(a provider.Attribute) bool { return a.Name == "size" && a.Number >= from && a.Number < to })
		}
	}
	id := func(prefix string) func(*provider.Instance) bool {
		return func(i *provider.Instance) bool { return strings.HasPrefix(i.ID, prefix) }
	}
	name := func(name string) func(*provider.Instance) bool {
		return func(i *provider.Instance) bool { return i.Name == name }
	}
	all := func(of ...func(*provider.Instance) bool) func(*provider.Instance) bool {
		return func(i *provider.Instance) bool {
			return !slices.ContainsFunc(of, func(match func(*provider.Instance) bool) bool { return !match(i) })
		}
	}
	return []branch{
		{"status:running", is(provider.StatusRunning)},
		{"status:terminated", is(provider.StatusTerminated)},
		{"status:suspended,terminated", is(provider.StatusSuspended, provider.StatusTerminated)},
		{"@region:eu", region("eu")},
		{"@region:us status:running", all(region("us"), is(provider.StatusRunning))},
		{"@region:eu,ap", region("eu", "ap")},
		{"@region:e*", region("eu")},
		{"@size:1..3", size(1, 3)},
		{"@size:..2 name:Order", all(size(0, 2), name("Order"))},
		{"@size:3.. @region:us", all(size(3, 9), region("us"))},
		{"id:a-", id("a-")},
		{"name:Order", name("Order")},
		{"name:Refund id:b-", all(name("Refund"), id("b-"))},
		{"started:2000-01-01Z.. name:Refund", name("Refund")},
		{"started:..2000-01-01Z", func(*provider.Instance) bool { return false }},
	}
}

// checkSearch pages a random search over a random store that changes between pages, and at most once while a page is read.
func checkSearch(t *rapid.T, store provider.Provider, advance func()) {
	steps := rapid.SliceOfN(rapid.IntRange(1, 4), 1, 5).Draw(t, "rows")
	s := &searched{t: t, advance: advance}
	s.store = &scanning{Full: provider.FullOf(store), silent: rapid.IntRange(0, 3).Draw(t, "silent") == 0, before: func() {}}
	s.store.rows = func() int { return steps[s.store.calls%len(steps)] }
	var err error
	if s.c, err = client.New(s.store, client.Options{}); err != nil {
		t.Fatal(err)
	}
	if rapid.Bool().Draw(t, "no time") {
		s.c.SetSearchBudget(1)
	}
	for range rapid.IntRange(1, 30).Draw(t, "instances") {
		s.start()
	}
	for range rapid.IntRange(0, 10).Draw(t, "changes") {
		s.change()
	}
	text := ""
	for range rapid.IntRange(1, 4).Draw(t, "branches") {
		if text != "" {
			text += " OR "
		}
		branch := rapid.SampledFrom(branches()).Draw(t, "branch")
		text += branch.text
		s.plain = append(s.plain, branch.match)
	}
	if s.search, err = client.ParseSearch(text, time.Time{}); err != nil {
		t.Fatal(err)
	}
	s.look()
	page, found := client.Page{Size: rapid.IntRange(1, 7).Draw(t, "size")}, []client.Description{}
	for pages := 0; ; pages++ {
		within := rapid.IntRange(-2, 8).Draw(t, "list that it changes before")
		s.store.before = func() {
			if within--; within == 0 {
				s.change()
				s.look()
			}
		}
		list, err := s.c.ListSearch(t.Context(), s.search, page)
		s.store.before = func() {}
		if err != nil || len(list.Items) > page.Size || pages > 1_000 {
			t.Fatalf("%s: page %d has %d instances: %v", text, pages, len(list.Items), err)
		}
		s.look()
		found = append(found, list.Items...)
		if n := len(found); list.Cursor != "" && n > 0 && !list.Reached.IsZero() && list.Reached.After(found[n-1].CreatedAt) {
			t.Fatalf("%s: the page shows an instance of %v and has reached %v", text, found[n-1].CreatedAt, list.Reached)
		}
		if page.Cursor = list.Cursor; page.Cursor == "" {
			break
		}
		for range rapid.IntRange(0, 3).Draw(t, "changes between pages") {
			s.change()
			s.look()
		}
	}
	for i, d := range found {
		if !s.ever[d.Key] {
			t.Fatalf("%s: %s never matched", text, d.ID)
		}
		delete(s.steady, d.Key)
		if i > 0 && (d.CreatedAt.After(found[i-1].CreatedAt) || d.CreatedAt.Equal(found[i-1].CreatedAt) && slices.Compare(d.Key[:], found[i-1].Key[:]) >= 0) {
			t.Fatalf("%s: %s follows %s", text, d.ID, found[i-1].ID)
		}
	}
	if len(s.steady) > 0 {
		t.Fatalf("%s: %d instances are missing: %v", text, len(s.steady), slices.Collect(maps.Keys(s.steady)))
	}
}

// The pages of a search have all that matches, in order and once, wherever the lists of its branches stop, and whatever begins, ends or comes to
// match another branch meanwhile.
func TestHazard162_NoRowIsLostOrDoubled(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		clock := memory.NewClock(searchNow)
		store := memory.New(memory.Options{Clock: clock})
		defer func() { _ = store.Close() }()
		checkSearch(t, store, func() {
			clock.Advance(time.Duration(rapid.IntRange(0, 2).Draw(t, "microseconds")) * time.Microsecond)
		})
	})
}

// An instance that leaves one branch for another between two lists of a page is on the page.
func TestHazard162_AnInstanceThatChangesBranchIsListed(t *testing.T) {
	t.Parallel()
	for _, search := range []string{"status:suspended OR status:running", "status:running OR status:suspended"} {
		for before := 1; before <= 3; before++ {
			store := memory.New(memory.Options{})
			s := &scanning{Full: provider.FullOf(store), rows: func() int { return 100 }, before: func() {}}
			c, err := client.New(s, client.Options{})
			if err != nil {
				t.Fatal(err)
			}
			h, err := client.StartNamed[any](t.Context(), c, "Order", 1)
			if err != nil {
				t.Fatal(err)
			}
			of, err := client.ParseSearch(search, time.Time{})
			if err != nil {
				t.Fatal(err)
			}
			lists := 0
			s.before = func() {
				if lists++; lists == before {
					if err := h.Suspend(t.Context(), ""); err != nil {
						t.Error(err)
					}
				}
			}
			list, err := c.ListSearch(t.Context(), of, client.Page{})
			if err != nil || len(list.Items) != 1 || list.Cursor != "" || lists != 3 {
				t.Errorf("%s, suspended before list %d of %d: %d instances, %v", search, before, lists, len(list.Items), err)
			}
			if err := store.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestHazard162_NoRowIsLostOrDoubledOnSQLite(t *testing.T) {
	t.Parallel()
	dir, n := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		if n++; n > 15 {
			return
		}
		store, err := sqlite.OpenWith(filepath.Join(dir, fmt.Sprint(n, ".db")), sqlite.Options{Synchronous: sqlite.Off})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = store.Close() }()
		checkSearch(t, store, func() {})
	})
}

func TestHazard162_NoRowIsLostOrDoubledOnPostgres(t *testing.T) {
	t.Parallel()
	url, n := postgrestest.URL(t), 0
	rapid.Check(t, func(r *rapid.T) {
		if n++; n > 10 {
			return
		}
		store, err := postgres.OpenWith(r.Context(), url, postgres.Options{Schema: postgrestest.Schema(t, url)})
		if err != nil {
			r.Fatal(err)
		}
		defer func() { _ = store.Close() }()
		checkSearch(r, store, func() {})
	})
}

// The cursor of a search keeps its times, and is of no other search.
func TestHazard163_CursorsKeepTheTimes(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"started:<90m", "started:<90m name:Order OR name:Refund"} {
		clock := memory.NewClock(searchNow)
		store := memory.New(memory.Options{Clock: clock})
		c, err := client.New(store, client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 6 {
			if _, err := client.StartNamed[any](t.Context(), c, "Order", 1, client.WithID(fmt.Sprint(i))); err != nil {
				t.Fatal(err)
			}
			clock.Advance(20 * time.Minute)
		}
		var ids []string
		for page := (client.Page{Size: 2}); ; clock.Advance(time.Hour) {
			now, err := c.SearchTime(t.Context(), page.Cursor)
			if err != nil {
				t.Fatal(err)
			}
			s, err := client.ParseSearch(text, now)
			if err != nil {
				t.Fatal(err)
			}
			list, err := c.ListSearch(t.Context(), s, page)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range list.Items {
				ids = append(ids, d.ID)
			}
			if page.Cursor = list.Cursor; page.Cursor == "" {
				break
			}
			other, err := client.ParseSearch("name:Order", now)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.ListSearch(t.Context(), other, page); !errors.Is(err, client.ErrInvalid) {
				t.Errorf("another search takes the cursor: %v", err)
			}
		}
		if fmt.Sprint(ids) != "[5 4 3 2]" {
			t.Errorf("%s finds %v", text, ids)
		}
	}
	c, err := client.New(memory.New(memory.Options{}), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, cursor := range []string{"x", "cw", "!"} {
		if _, err := c.SearchTime(t.Context(), cursor); !errors.Is(err, client.ErrInvalid) {
			t.Errorf("cursor %q: %v", cursor, err)
		}
	}
}

// Counts of several branches count each instance once.
func TestSearchesAreCounted(t *testing.T) {
	t.Parallel()
	store := memory.New(memory.Options{})
	c, err := client.New(store, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		if _, err := client.StartNamed[any](t.Context(), c, []string{"Order", "Refund", "Other"}[i%3], 1, client.WithID(fmt.Sprint("x", i%2, "-", i))); err != nil {
			t.Fatal(err)
		}
	}
	for text, want := range map[string]string{"name:Order": "10", "name:Order OR id:x0": "20", "name:Order OR name:Refund OR id:x": "25+", "": "25+"} {
		s, err := client.ParseSearch(text, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		if n, err := c.CountSearchUpTo(t.Context(), s, 25); err != nil || n.String() != want {
			t.Errorf("%q: %v, %v, want %s", text, n, err, want)
		}
	}
}

// A count of several branches has one time budget. What it has not seen by then may be more, and is never none.
func TestHazard162_CountsHaveABudget(t *testing.T) {
	t.Parallel()
	store := memory.New(memory.Options{})
	c, err := client.New(store, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2*provider.MaxPage + 10 {
		if _, err := client.StartNamed[any](t.Context(), c, []string{"Order", "Refund"}[i%2], 1); err != nil {
			t.Fatal(err)
		}
	}
	s, err := client.ParseSearch("name:Order OR name:Refund", time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	c.SetSearchBudget(1)
	n, err := c.CountSearchUpTo(t.Context(), s, math.MaxInt64)
	if err != nil || n.Exact || n.Count < 1 || n.Count >= 2*provider.MaxPage {
		t.Errorf("within a nanosecond: %+v, %v", n, err)
	}
	c.SetSearchBudget(time.Hour)
	if n, err = c.CountSearchUpTo(t.Context(), s, math.MaxInt64); err != nil || !n.Exact || n.Count != 2*provider.MaxPage+10 {
		t.Errorf("with time: %+v, %v", n, err)
	}
}
