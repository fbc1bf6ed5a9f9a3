package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/provider"
)

// defaultPage is the default of Page.Size.
const defaultPage = 100

// Filter selects instances. Zero fields do not restrict; all others must match.
type Filter struct {
	IDPrefix      string
	Orchestration string // stored name
	Statuses      []Status
	Blocked       bool          // only blocked ones
	Parent        provider.UUID // key of the instance that started them as children
	CreatedAfter  time.Time     // inclusive, by the storage's clock
	CreatedBefore time.Time     // exclusive
	Replaced      bool          // also instances whose ID now names a newer one
	Attributes    []AttributeFilter
	System        bool // also the instances of perdure itself, such as schedules; an IDPrefix that begins with "perdure/" finds them, too
}

// Page selects a part of a list.
type Page struct {
	Size   int    // 1 to 1,000; 0: 100
	Cursor string // "" for the first page, else Instances.Cursor
}

// Instances is a page of a list. Cursor is "" on the last one.
type Instances struct {
	Items  []Description `json:"items"`
	Cursor string        `json:"cursor,omitempty"`
}

// List returns a page of the instances that match, newest first. Instances that are created or end between two pages neither
// repeat nor hide others. Pending activities are not listed.
func (c *Client) List(ctx context.Context, f Filter, page Page) (Instances, error) {
	const doing = "listing instances"
	filter, err := f.stored()
	if err = cmp.Or(c.usable(ctx), err); err != nil {
		return Instances{}, fmt.Errorf("%s: %w", doing, err)
	}
	if page.Size < 0 || page.Size > provider.MaxPage {
		return Instances{}, fmt.Errorf("%s: %w: page size %d: give 1 to %d, or 0 for %d", doing, ErrInvalid, page.Size, provider.MaxPage, defaultPage)
	}
	req := provider.ListRequest{Filter: filter, Cursor: page.Cursor, Max: page.Size}
	if req.Max == 0 {
		req.Max = defaultPage
	}
	res, err := c.page(ctx, doing, req, !f.System && reserved.Reaches(f.IDPrefix))
	if errors.Is(err, ErrInvalid) && page.Cursor != "" { // all else was checked here
		return Instances{}, fmt.Errorf("%s: %w: page cursor %s is none of this store: give the Cursor of the page before, or \"\" for the first",
			doing, ErrInvalid, check.Quote(page.Cursor))
	}
	if err != nil {
		return Instances{}, explain(doing, 0, err)
	}
	list := Instances{Items: make([]Description, 0, len(res.Instances)), Cursor: res.Cursor}
	for i := range res.Instances {
		list.Items = append(list.Items, describeListed(&res.Instances[i], res.Now))
	}
	return list, nil
}

// page reads until the page is full or the list ends. A store may end a page early. users leaves out the instances of perdure itself.
func (c *Client) page(ctx context.Context, doing string, req provider.ListRequest, users bool) (res provider.ListResult, err error) {
	most := req.Max
	for {
		next, err := read(ctx, c.store, doing, c.store.List, req)
		if err != nil {
			return res, err
		}
		if users {
			next.Instances = slices.DeleteFunc(next.Instances, func(i provider.Instance) bool { return reserved.ID(i.ID) })
		}
		next.Instances = append(res.Instances, next.Instances...)
		res = next
		if req.Max = most - len(res.Instances); req.Max == 0 || res.Cursor == "" {
			return res, nil
		}
		req.Cursor = res.Cursor
	}
}

// All ranges over all instances that match, newest first. It reads page by page, and ends after the first error.
func (c *Client) All(ctx context.Context, f Filter) iter.Seq2[Description, error] {
	return func(yield func(Description, error) bool) {
		var page Page
		for {
			list, err := c.List(ctx, f, page)
			if err != nil {
				yield(Description{}, err)
				return
			}
			for _, d := range list.Items {
				if !yield(d, nil) {
					return
				}
			}
			if page.Cursor = list.Cursor; page.Cursor == "" {
				return
			}
		}
	}
}

// Count returns how many instances match.
func (c *Client) Count(ctx context.Context, f Filter) (int64, error) {
	const doing = "counting instances"
	filter, err := f.stored()
	if err = cmp.Or(c.usable(ctx), err); err != nil {
		return 0, fmt.Errorf("%s: %w", doing, err)
	}
	res, err := read(ctx, c.store, doing, c.store.Count, provider.CountRequest{Filter: filter})
	if err == nil && !f.System && reserved.Reaches(f.IDPrefix) {
		var own provider.CountResult
		filter.IDPrefix = reserved.IDPrefix
		own, err = read(ctx, c.store, doing, c.store.Count, provider.CountRequest{Filter: filter})
		res.Count = max(0, res.Count-own.Count)
	}
	if err != nil {
		return 0, explain(doing, 0, err)
	}
	return res.Count, nil
}

// stored checks f and returns it in the storage's form.
func (f *Filter) stored() (provider.Filter, error) {
	stored := provider.Filter{IDPrefix: f.IDPrefix, Name: f.Orchestration, Blocked: f.Blocked, ParentKey: f.Parent, Replaced: f.Replaced}
	for _, err := range []error{
		invalid(check.OptionalName("filter IDPrefix", f.IDPrefix)),
		invalid(check.OptionalName("filter Orchestration", f.Orchestration)),
		bound(&stored.CreatedAfter, "CreatedAfter", f.CreatedAfter),
		bound(&stored.CreatedBefore, "CreatedBefore", f.CreatedBefore),
	} {
		if err != nil {
			return stored, err
		}
	}
	for _, s := range f.Statuses {
		known, ok := provider.ParseStatus(string(s))
		if !ok || known > provider.StatusTerminated {
			return stored, fmt.Errorf("%w: status %q is none of an instance: give Running, Suspended, Completed, Failed, Cancelled or Terminated",
				ErrInvalid, s)
		}
		if !slices.Contains(stored.Statuses, known) {
			stored.Statuses = append(stored.Statuses, known)
		}
	}
	for i := range f.Attributes {
		a := &f.Attributes[i]
		if a.match.Name == "" && a.err == nil {
			a.value("") // of the zero value
		}
		if a.err != nil {
			return stored, a.err
		}
		stored.Matches = append(stored.Matches, a.match)
	}
	return stored, nil
}

// bound sets a time bound in the storage's form, whose zero means none.
func bound(stored *provider.Time, field string, t time.Time) error {
	if t.IsZero() {
		return nil
	}
	if year := t.UTC().Year(); year < 1 || year > 9999 {
		return fmt.Errorf("%w: filter %s is in the year %d: give 1 to 9999", ErrInvalid, field, year)
	}
	if *stored = provider.TimeOf(t); *stored == 0 {
		*stored = 1 // the epoch itself is a time like others
	}
	return nil
}
