package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/provider"
)

// searchBudget is how long the branches of a search read together. Each reads once at least, for which stores have a bound of their own.
const searchBudget = 60 * time.Millisecond

// countBudgets is how many times as long a count of several branches lasts.
const countBudgets = 10

// SearchTime returns the time by which a search with relative times is to be parsed: that of the storage's clock, or, with the cursor of a page,
// that of the first page. So <1h means the same on each page.
func (c *Client) SearchTime(ctx context.Context, cursor string) (time.Time, error) {
	if cursor != "" {
		if at, err := parseSearchCursor(cursor); err != nil {
			return time.Time{}, fmt.Errorf("searching instances: %w", err)
		} else if at.now != 0 {
			return at.now.Std(), nil
		}
	}
	return c.Now(ctx)
}

// ListSearch returns a page of the instances that a search selects, in the order of [Client.List] and each once. An instance that is created,
// ends, or comes to match another branch between two pages or while one is read, neither repeats nor hides others.
//
// The page may be short, even empty, although its Cursor leads on: Instances.Reached says how far back it has looked. Its cursor belongs to
// this search, and keeps the times that were relative.
func (c *Client) ListSearch(ctx context.Context, s Search, page Page) (Instances, error) {
	const op = "searching instances"
	from := searchCursor{sum: s.sum(), now: provider.TimeOf(s.now)}
	if page.Cursor != "" {
		at, err := parseSearchCursor(page.Cursor)
		if err == nil && at.sum != from.sum {
			err = fmt.Errorf("%w: the page cursor belongs to another search: give the text of the page before, or begin without a cursor", ErrInvalid)
		}
		if err != nil {
			return Instances{}, fmt.Errorf("%s: %w", op, err)
		}
		from = at
	}
	if f, ok := s.Filter(); ok {
		page.Cursor = from.store
		list, err := c.List(ctx, f, page)
		if list.Cursor != "" {
			from.store = list.Cursor
			list.Cursor = from.String()
		}
		return list, err
	}
	e, err := c.either(ctx, op, s, page)
	if err != nil {
		return Instances{}, fmt.Errorf("%s: %w", op, err)
	}
	e.after = from.after
	if err := e.page(ctx); err != nil {
		return Instances{}, access.Explain(op, 0, err)
	}
	list := Instances{Items: make([]Description, 0, len(e.found))}
	for i := range e.found {
		list.Items = append(list.Items, describeListed(&e.found[i], e.now))
	}
	if e.next != nil {
		from.after = e.next
		list.Cursor, list.Reached = from.String(), e.next.reached().Std()
	}
	if slices.ContainsFunc(s.branches, func(f Filter) bool { return f.Waiting }) {
		c.showWaiting(ctx, list.Items)
	}
	return list, c.markListed(ctx, op, list.Items)
}

// CountSearchUpTo is CountUpTo for a search. It counts an instance that several branches match once, by listing the instances: it stops after 600 ms,
// and Exact is false then.
func (c *Client) CountSearchUpTo(ctx context.Context, s Search, most int64) (Counted, error) {
	const op = "counting instances"
	if f, ok := s.Filter(); ok {
		return c.CountUpTo(ctx, f, most)
	}
	if most < 1 {
		return Counted{}, fmt.Errorf("%s: %w: the most to count is %d: give 1 or more", op, ErrInvalid, most)
	}
	page := Page{Size: provider.MaxPage, Omit: []Column{ColumnAttributes, ColumnCustomStatus, ColumnBlockedMessage}}
	e, err := c.either(ctx, op, s, page)
	if err != nil {
		return Counted{}, fmt.Errorf("%s: %w", op, err)
	}
	n, until := Counted{Exact: true}, time.Now().Add(countBudgets*cmp.Or(c.searchBudget, searchBudget))
	for {
		if err := e.page(ctx); err != nil {
			return Counted{}, access.Explain(op, 0, err)
		}
		n.Count += int64(len(e.found))
		if n.Count > most {
			return Counted{Count: most}, nil
		}
		if e.next == nil {
			return n, nil
		}
		if !time.Now().Before(until) {
			n.Exact = false
			return n, nil
		}
		e.after = e.next
	}
}

// A place is where an instance stands in the order of lists: by creation, then by key, both descending.
type place struct {
	at  provider.Time
	key provider.UUID
}

func placeOf(i *provider.Instance) place { return place{i.CreatedAt, i.Key} }

// compare returns -1 if p is before q in a list, which means newer.
func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(q.at, p.at), slices.Compare(q.key[:], p.key[:]))
}

// reached returns the time whose later instances are all before the place, or at it.
func (p place) reached() provider.Time {
	if p.key.IsZero() {
		return p.at - 1
	}
	return p.at
}

// either lists the instances that match one of several filters.
//
// Each branch is a list of its own, and may stop anywhere, because it has looked at many rows. The page ends at the newest place where a branch
// has stopped, and all branches go on from there: what has changed since, and now matches another branch, would otherwise be behind one
// branch and no longer in the other.
type either struct {
	c        *Client
	op       string
	branches []provider.ListRequest
	users    []bool // of each branch: it leaves out the instances of perdure itself
	size     int
	after    *place // where the page begins; nil: at the newest instance

	found []provider.Instance
	next  *place // where the next page begins; nil: this is the last one
	now   provider.Time
}

// either checks a search and a page.
func (c *Client) either(ctx context.Context, op string, s Search, page Page) (*either, error) {
	if err := c.usable(ctx); err != nil {
		return nil, err
	}
	if page.Size < 0 || page.Size > provider.MaxPage {
		return nil, fmt.Errorf("%w: page size %d: give 1 to %d, or 0 for %d", ErrInvalid, page.Size, provider.MaxPage, access.DefaultPage)
	}
	e := &either{c: c, op: op, size: cmp.Or(page.Size, access.DefaultPage)}
	omit, err := omitted(page.Omit)
	if err != nil {
		return nil, err
	}
	for i := range s.branches {
		f := &s.branches[i]
		stored, err := f.stored()
		if err == nil {
			err = c.store.Filters(&stored)
		}
		if err != nil {
			return nil, err
		}
		e.branches = append(e.branches, provider.ListRequest{Filter: stored, Max: min(e.size+1, provider.MaxPage), Omit: omit})
		e.users = append(e.users, f.users())
	}
	return e, nil
}

// page reads the page after e.after.
//
// An instance that leaves the filter of one branch for that of another while they are read would be in neither. So all branches but the last are
// read again, in the other order: whatever it leaves was then read before, or what it comes to is read after.
func (e *either) page(ctx context.Context) error {
	e.found, e.next = nil, nil
	until := time.Now().Add(cmp.Or(e.c.searchBudget, searchBudget))
	last := len(e.branches) - 1
	for n := range 2*last + 1 {
		if err := e.read(ctx, last-max(n-last, last-n), until); err != nil {
			return err
		}
	}
	slices.Reverse(e.found) // of an instance that was read twice, the later state counts
	slices.SortStableFunc(e.found, func(a, b provider.Instance) int { return placeOf(&a).compare(placeOf(&b)) })
	e.found = slices.CompactFunc(e.found, func(a, b provider.Instance) bool { return a.Key == b.Key })
	if e.next != nil {
		e.found = slices.DeleteFunc(e.found, func(i provider.Instance) bool { return placeOf(&i).compare(*e.next) > 0 })
	}
	if len(e.found) > e.size {
		end := placeOf(&e.found[e.size-1])
		e.found, e.next = e.found[:e.size], &end
	}
	return nil
}

// selects reports whether an instance that a branch has found is on the page or behind it.
func (e *either) selects(branch int, i *provider.Instance) bool {
	if e.users[branch] && reserved.ID(i.ID) {
		return false
	}
	return e.after == nil || placeOf(i).compare(*e.after) > 0
}

// read reads a branch until it is full, has passed the place where the page ends anyway, or the time is up. It reads on within the
// instances that were created in the microsecond of e.after: their place alone leads no further.
func (e *either) read(ctx context.Context, branch int, until time.Time) error {
	req := e.branches[branch]
	if e.after != nil && (req.Filter.CreatedBefore == 0 || e.after.at < req.Filter.CreatedBefore) {
		req.Filter.CreatedBefore = e.after.at + 1
	}
	if e.next != nil {
		req.Filter.CreatedAfter = max(req.Filter.CreatedAfter, e.next.at)
	}
	for found := 0; ; {
		res, err := access.Read(ctx, e.c.store.Store, e.op, e.c.store.List, req)
		if err != nil {
			return err
		}
		e.now = res.Now
		for i := range res.Instances {
			in := &res.Instances[i]
			if e.selects(branch, in) {
				e.found = append(e.found, *in)
				found++
			}
		}
		if res.Cursor == "" {
			return nil
		}
		stop := stopOf(&res)
		if stop != nil && (e.after == nil || stop.compare(*e.after) > 0) {
			passed := e.next != nil && stop.compare(*e.next) >= 0
			if passed || found >= e.size || !time.Now().Before(until) {
				if !passed {
					e.next = stop
				}
				return nil
			}
		}
		req.Cursor = res.Cursor
	}
}

// stopOf returns where a list has stopped: all that matches and is newer is on the page. nil means that it is not known.
func stopOf(res *provider.ListResult) (stop *place) {
	if n := len(res.Instances); n > 0 {
		stop = new(placeOf(&res.Instances[n-1]))
	}
	if res.Reached != 0 {
		if by := (place{at: res.Reached + 1}); stop == nil || by.compare(*stop) > 0 {
			stop = &by
		}
	}
	return stop
}

var errSearchCursor = errors.New("the page cursor is none of a search: give the Cursor of the page before, or \"\" for the first")
